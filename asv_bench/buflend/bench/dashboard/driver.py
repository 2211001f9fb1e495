"""asv's command line, run as `python -m buflend.bench.dashboard.driver NOTES ARGUMENTS...`.

Lives here: the two things that asv does not offer as options. Its file of machines is looked for in the folder of
`NOTES`, not in the home folder; and what it knows of a run and does not save, why benchmarks were skipped or failed, is
written to the file `NOTES`, by the name of the result file.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from pathlib import Path
from typing import Any

from . import results

MACHINES = "asv-machine.json"
"""The file in which asv keeps what it knows of machines."""


def main() -> None:
    """Run asv with the arguments of the process."""
    from asv.machine import MachineCollection
    from asv.main import main as run
    from asv.results import Results

    notes = Path(sys.argv[1])
    MachineCollection.get_machine_file_path = staticmethod(lambda: str(notes.parent / MACHINES))
    save = Results.save

    def noting(self: Any, folder: str) -> None:
        save(self, folder)
        kept = json.loads(notes.read_text("utf-8")) if notes.is_file() else {}
        kept.setdefault(self._filename, {}).update(missing(self))
        notes.write_text(json.dumps(kept), "utf-8")

    Results.save = noting
    sys.argv[:] = ["asv", *sys.argv[2:]]
    run()


def missing(found: Any) -> dict[str, dict[str, str]]:
    """Return of each benchmark that printed something why parameters have no value."""
    told = {}
    for name, output in found.stderr.items():
        if output and name in found.get_all_result_keys():
            params = found.get_result_params(name)
            values = found.get_result_value(name, params)
            pairs = zip(itertools.product(*params), values, strict=True)
            keys = [key for key, value in pairs if value is None or (isinstance(value, float) and math.isnan(value))]
            told[name] = dict(results.reasons(output, keys))
    return told


if __name__ == "__main__":
    main()
