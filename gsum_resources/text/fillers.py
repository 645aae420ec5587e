"""Words of speech that a quotation may leave out."""

from gsum_resources.text.vocabulary import word_set

FILLER_WORDS = word_set(
    """
    uh uhh uhm um umm er erm errm ah aah eh hm hmm mm mmm huh oh ooh
    you know see i mean guess suppose if like as said let s
    well so okay ok o k right basically actually obviously yeah yes yep yup sort kind of
    alright all sure fine exactly good great cool anyway now then also but and or
    """
)
"""Words that openers ("Okay, so"), asides ("you know", "I mean") and hesitations consist of."""
