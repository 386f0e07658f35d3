"""Which of a run's checkpoints stay, and what the links `best` and `last` point at.

Kept are the newest `keep` of those due by `save_every`, the `keep_best` best validated ones, and what a link points at.
"""

from __future__ import annotations

import logging
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from tfmt.checkpoint import Scored, checkpoint_folder, checkpoints, verify
from tfmt.errors import DataError, ModelError
from tfmt.files import clear_left_over, read_json

logger = logging.getLogger(__name__)


def rank(ranked: Sequence[Scored], new: Scored, keep_best: int) -> tuple[Scored, ...]:
    """The best with a new one among them, best first; of equals the earlier is better."""
    return tuple(sorted([*ranked, new], key=lambda scored: -scored.score)[:keep_best])


def newest_whole_checkpoint(run: Path) -> Path | None:
    """The newest checkpoint that is as it was written, None before the first; raises ModelError if all are damaged."""
    folders = checkpoints(run)
    for folder in reversed(folders):
        if is_whole(folder):
            return folder
    if folders:
        raise ModelError(f"{run}: all its checkpoints are damaged; --overwrite starts anew")
    return None


def newest_good_checkpoint(run: Path) -> Path | None:
    """The newest whole one that was not saved amid updates skipped for numbers that are not finite."""
    for folder in filter(is_whole, reversed(checkpoints(run))):
        if not read_json(folder / "state/train.json").get("num_skipped_in_row"):
            return folder
    return None


def is_whole(folder: Path) -> bool:
    """Whether every file is as it was written; a warning names what is not."""
    try:
        verify(folder)
    except ModelError as error:
        logger.warning(f"{error}; this checkpoint is passed over")
        return False
    return True


def regular_checkpoints(run: Path) -> list[Path]:
    """Those that were due by `save_every`, not for a stop or a best score: what a run never stopped would hold too."""
    return [folder for folder in checkpoints(run) if _is_regular(folder)]


def _is_regular(folder: Path) -> bool:
    try:
        return read_json(folder / "manifest.json").get("regular") is True
    except DataError:
        return False


def link(run: Path, name: str, folder: Path) -> None:
    """Point the run's link `best` or `last` at one of its checkpoints, in one step."""
    beside = run / f".{name}.partial"
    beside.unlink(missing_ok=True)
    beside.symlink_to(Path("checkpoints") / folder.name)
    beside.replace(run / name)


def prune(run: Path, keep: int, ranked: Sequence[Scored] = ()) -> None:
    """Delete all but the newest `keep` regular checkpoints, the ranked ones, and what `best` and `last` point at."""
    kept = {(run / name).resolve() for name in ("best", "last")}
    kept |= {folder.resolve() for folder in regular_checkpoints(run)[-keep:]}
    kept |= {checkpoint_folder(run, scored.step).resolve() for scored in ranked}
    for folder in checkpoints(run):
        if folder.resolve() not in kept:
            _delete(folder)


def delete_after(run: Path, folder: Path) -> None:
    """Delete the checkpoints newer than `folder`: training has gone back to it."""
    for newer in checkpoints(run):
        if newer.name > folder.name:
            _delete(newer)


def prune_averages(run: Path, newest: Path) -> None:
    """Delete the averages of earlier ends, but for the one that `best` points at."""
    for folder in (run / "checkpoints").glob("average-*[0-9]"):
        if folder != newest and folder.resolve() != (run / "best").resolve():
            _delete(folder)


def clear_left_overs(run: Path) -> None:
    """Undo what a kill left half done among the checkpoints; only for the process that has locked the run."""
    for left_over in (run / "checkpoints").glob(".*"):
        name = re.fullmatch(r"\.((?:step|average)-\d+)\..*\.?(?:partial|aside)", left_over.name)
        if name:
            clear_left_over(left_over, run / "checkpoints" / name[1])


def _delete(folder: Path) -> None:
    # renamed first: a kill while deleting leaves no half folder that looks like a checkpoint
    doomed = folder.with_name(f".{folder.name}.doomed.partial")
    folder.rename(doomed)
    shutil.rmtree(doomed)
