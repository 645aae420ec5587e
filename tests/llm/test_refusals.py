"""Replies that say that the documents do not answer, told from answers."""

import pytest

from gsum_resources.text.refusals import refusal_in, says_nothing

REFUSALS = """
The documents do not say.
the documents do not say
The documents do not say who invented the telephone.
The passages don't mention a telephone.
The provided passages do not contain any information about the inventor of the telephone.
The text provided does not specify when the ferry was built.
I'm sorry, but the documents do not say who paid for the kettle.
Unfortunately, the excerpts do not provide enough information to answer this question.
None of the passages mentions the capital of Mongolia.
There is no information about the telephone in the provided documents.
There is no mention of Mongolia in the passages.
The capital of Mongolia is not mentioned in the documents.
Based on the provided context, I cannot answer this question.
I could not find an answer to this question in the documents.
This question cannot be answered from the passages.
The documents do not say. They only discuss the repair of the boat.
The passages do not answer the question; they focus on the ferry and its pump.
It is not possible to determine who paid from the passages given.
Not mentioned.
The passages contain no information on that.
Die Dokumente sagen dazu nichts.
In den Dokumenten steht nicht, wer das Telefon erfunden hat.
Die Passagen enthalten keine Informationen über die Hauptstadt der Mongolei.
Leider geht aus den Unterlagen nicht hervor, wer die Pumpe bezahlt hat.
Die Frage lässt sich anhand der Texte nicht beantworten.
Les documents ne le disent pas.
Les passages ne mentionnent pas l'inventeur du téléphone.
Aucun des documents ne précise qui a payé la pompe.
Désolé, mais les extraits ne contiennent aucune information à ce sujet.
Los documentos no lo dicen.
Ninguno de los documentos menciona el teléfono.
Nessuno dei documenti lo specifica.
Los pasajes no mencionan quién inventó el teléfono.
No se menciona en los documentos.
I documenti non lo dicono.
I brani non contengono informazioni sul telefono.
De documenten zeggen dat niet.
De passages bevatten geen informatie over de telefoon.
Os documentos não dizem.
Os trechos não mencionam quem inventou o telefone.
文档中没有提到电话的发明者。
文件没有说明。
文書には記載がありません。
資料には電話の発明者についての情報はありません。
"""

ANSWERS = """
Hanneke did not say who paid.
The letter does not mention a price.
The insurer's letter does not mention the hatch.
Corin Ashe fell through the hatch.
The report does not state the cost of the pump, but the minutes give 900 pounds.
The documents do not say who built the mill. It was sold in 1902 by Ida Brandt.
The documents do not mention Bram by name; he is called the carpenter.
Not Bram, but Wren paid for it.
None of the members objected.
Nobody resigned.
No. The opening moves to the fifteenth of May.
No, the hatch was not closed.
Unknown to Marit, Bram had written a letter.
There is no rail at the hatch.
There is no evidence that the valve was fixed.
There is no mention of the rail in the insurer's letter.
The rail is not mentioned in the insurer's letter of 3 March.
The documents say that he did not come.
The text does not use the word "rail" but "rope".
The passages disagree: Dov says 900 pounds and Wren says 1,150.
I could not find the key, said Teo.
The documents do not require a signature.
The minutes of 3 November do not mention the kettle; those of 15 December allow it for the crew.
The ferry is late because the pump broke.
Die Dokumente sagen, dass Teo nicht kam.
Teo sagte nichts dazu.
Die Luke war nicht geschlossen, weil Teo das Seil ausgehängt hatte.
Der Brief enthält keinen Preis.
Teo n'a pas fermé la trappe.
La lettre ne mentionne pas le prix.
Bram no pagó la bomba.
Il medico non venne alla riunione.
Los documentos dicen que Bram pagó.
Los documentos no requieren firma.
I documenti dicono che Teo venne.
Os documentos dizem que o barco abriu.
文書は公開されていない。
De veerboot was niet op tijd.
O barco não abriu em maio.
博尔特没有关上舱门。
テオはハッチを閉めませんでした。
"""


@pytest.mark.parametrize("reply", REFUSALS.strip().splitlines())
def test_a_refusal_is_recognized(reply: str) -> None:
    assert says_nothing(reply)
    assert refusal_in(f" {reply}\n") == reply


@pytest.mark.parametrize("reply", ANSWERS.strip().splitlines())
def test_an_answer_is_none(reply: str) -> None:
    assert not says_nothing(reply)
    assert refusal_in(reply) is None


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("UNANSWERED", ""),
        ("**UNANSWERED**", ""),
        ("UNANSWERED: Asiakirjat eivät kerro sitä.", "Asiakirjat eivät kerro sitä."),
        ("Unanswered. The documents do not say.", "The documents do not say."),
        ("UNANSWERED\n\nW dokumentach nic o tym nie ma.", "W dokumentach nic o tym nie ma."),
    ],
)
def test_the_mark_is_recognized_in_any_language_and_is_no_part_of_the_text(
    reply: str, said: str
) -> None:
    assert refusal_in(reply) == said


def test_a_long_reply_is_an_answer() -> None:
    assert not says_nothing("The documents do not say. " + "They only discuss the boat. " * 20)
    assert not says_nothing("")
