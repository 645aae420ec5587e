"""Documents in which names recur, so that they share entities across documents."""

PEOPLE = ["Marit Olsen", "Dov Hallam", "Wren Tarry", "Ines Quell", "Teo Lisk", "Bram Aldous"]
PLACES = ["Tarnholt", "Quarry Landing", "Sallow Point", "Little Maule", "Hethering"]


def tale(number: int, n: int = 9, more: str = "", between: str = " ") -> str:
    """Return `n` sentences about who met whom where, each followed by `more`."""
    sentences = []
    for i in range(n):
        one, other = (PEOPLE[(number + i * step) % len(PEOPLE)] for step in (1, 2))
        place = PLACES[(number * 2 + i) % len(PLACES)]
        sentences.append(
            f"On day {number}{i} the skipper {one} told {other} at {place} that the jetty number "
            f"{number * i} was closed.{more.format(one=one, other=other, place=place)}"
        )
    return between.join(sentences)


def paragraphs(number: int, n: int = 6) -> str:
    """Return `n` longer paragraphs on the same persons and places."""
    more = " {other} carried the brass lamp from {place} to the old boathouse, and {one} wept."
    return tale(number, n, more, "\n\n")
