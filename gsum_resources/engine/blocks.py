"""Heavy work in blocks: one after the other in this process, or spread over a cluster.

Borders of blocks and the order of results do not depend on the engine.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from gsum_resources.settings.schema import EngineSettings

Block = TypeVar("Block")
Output = TypeVar("Output")
MakeFunction = Callable[[], Callable[[Block], Output]]
"""Returns the function of a block, with what it needs loaded; must be picklable for Ray."""


class BlockError(RuntimeError):
    """A block that could not be computed; the message names step, block, reason and remedy."""


class Engine:
    """Applies functions to blocks: one block after the other in this process."""

    spreads: bool = False
    """Whether blocks run in other processes, with models of their own."""
    threads: int | None = None
    """Number of threads that a block may use; None: those of this process."""

    def map_blocks(
        self,
        make_function: MakeFunction[Block, Output],
        blocks: Iterable[Block],
        step: str,
        model: str = "",
    ) -> Iterator[Output]:
        """Yield the function's result for each block, in order, each when it is requested.

        Raise `BlockError` if a block is lost repeatedly. Exceptions of the function itself are
        raised unchanged.

        Parameters
        ----------
        make_function : called once in each process that computes blocks.
        step : what the blocks are part of, for messages.
        model : identity of the model that the function loads, which then stays loaded for later
            calls; empty: the function is released after this call.
        """
        return map(make_function(), blocks)


@runtime_checkable
class Movable(Protocol):
    """A model that another process can load."""

    def unloaded(self, threads: int | None) -> Any:
        """Return an equal model that is not loaded and uses this number of threads."""
        ...


LOCAL = Engine()


_ray_engines: "dict[EngineSettings, Engine]" = {}


def engine_of(settings: "EngineSettings") -> Engine:
    """Return the engine of the table `[engine]`, one for the whole process."""
    if settings.kind == "local":
        return LOCAL
    from gsum_resources.engine.ray_engine import RayEngine

    return _ray_engines.setdefault(settings, RayEngine(settings))
