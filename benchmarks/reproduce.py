"""Published figures beside ours, of a home in which `gsum reproduce` ran.

    python -m benchmarks.reproduce gor-qmsum HOME [--preset FILE] [--store NAME]

HOME is the folder that was GSUM_HOME. Rows that were not run are left out.
"""

from pathlib import Path

from benchmarks import Measurement
from benchmarks.results import parser_of, publish
from gsum_assets.reproduce import preset as presets
from gsum_assets.reproduce.homes import parts_of
from gsum_assets.reproduce.table import read_scores, read_wins, side_by_side
from gsum_resources.settings.home import Home


def main() -> None:
    """Print the tables of one reproduction, and store them if so chosen."""
    parser = parser_of(__doc__, is_named=True)
    parser.add_argument("name")
    parser.add_argument("home", type=Path)
    parser.add_argument("--preset", type=Path)
    chosen = parser.parse_args()
    preset = presets.load(chosen.name, chosen.preset)
    root = chosen.home.resolve()
    parts, _ = parts_of(preset, chosen.name, Home(root, str(root / "warehouse")), {}, ())
    scores = read_scores(parts)
    tables = [
        Measurement(
            f"{preset.title}: {grid.title}",
            " ".join(f"{departure[0].upper()}{departure[1:]}." for departure in preset.departures),
            grid.header,
            [row for row in grid.rows if row[1] in scores],
        )
        for grid in side_by_side(preset, scores, read_wins(parts, preset.headline))
    ]
    tables = [table for table in tables if table.rows]
    publish(chosen.store or "reproduce", tables, bool(chosen.store))


if __name__ == "__main__":
    main()
