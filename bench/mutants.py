"""Changes the code in small ways and shows which changes no test notices, by cargo-mutants. Called by `./x mutants`.

usage: mutants.py SURVIVORS OUTPUT [ARGUMENT...]

SURVIVORS names the mutants that may live, a line each: `PATH: MUTANT # reason`, as this program prints them (without line numbers,
so that the list outlives edits). OUTPUT is a directory for cargo-mutants' logs; the arguments go to cargo-mutants, to try a part
(`-f FILE` in place of all files).
Exit code 1: a survivor that is not named; and when all were tried, fewer than 95 % caught, or a name without its survivor.
"""

import collections
import ctypes
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import threading

GOAL = 0.95
# The code that every figure depends on: the record, the analysis, the sampling loop, the pairing of edges.
FILES = [
    "crates/rtscope-record/src/**/*.rs",
    "crates/rtscope-analysis/src/**/*.rs",
    "crates/rtscope-samples/src/**/*.rs",
    "crates/rtscope-probe/src/timer/{grid,sampling}.rs",
    "crates/rtscope-probe/src/line_tests/schedule.rs",
]
# Of prctl: processes whose parent ended become children of this one (linux/prctl.h).
PR_SET_CHILD_SUBREAPER = 36
# Some mutants allocate without end: the limit ends them before the machine runs out of memory.
MEMORY = 4 << 30


def name(mutant):
    """What cargo-mutants calls it, less line and column."""
    path, _line, _column, what = mutant["name"].split(":", 3)
    return f"{path}:{what}"


def end_orphans(cargo, ended):
    """Kills tests that cargo-mutants gave up for taking too long, until `ended`: they block SIGTERM, and would spin beside all others."""
    while not ended.wait(5):
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                pid, parent = int(stat.parent.name), int(stat.read_text().rpartition(")")[2].split()[1])
                if parent == os.getpid() and pid != cargo:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
            except OSError:
                pass  # it has ended meanwhile


def run(command):
    """Its exit code."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    cargo = subprocess.Popen(command)
    ended = threading.Event()
    watch = threading.Thread(target=end_orphans, args=(cargo.pid, ended))
    watch.start()
    code = cargo.wait()
    ended.set()
    watch.join()
    return code


def main():
    survivors, output, *arguments = sys.argv[1:]
    some = any(a == "-f" or a.startswith(("-f=", "--file")) for a in arguments)
    files = [] if some else [f"--file={glob}" for glob in FILES]
    command = ["cargo", "mutants", "--output", output, "--colors", "never", *files, *arguments]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    code = run(command)
    # 2: mutants were missed, 3: mutants timed out; both are judged here. Any other code: cargo-mutants could not run.
    if code not in (0, 2, 3):
        sys.exit(f"error: cargo mutants ended with {code}")
    outcomes = json.loads((pathlib.Path(output) / "mutants.out/outcomes.json").read_text())["outcomes"]
    found = [(o["summary"], o["scenario"]["Mutant"]) for o in outcomes if o["scenario"] != "Baseline"]
    built = [(summary, mutant) for summary, mutant in found if summary != "Unviable"]
    missed = collections.Counter(name(mutant) for summary, mutant in built if summary == "MissedMutant")
    caught = len(built) - missed.total()
    lines = [line.strip() for line in pathlib.Path(survivors).read_text().splitlines()]
    named = [line.partition(" # ") for line in lines if line and not line.startswith("#")]
    reasons = {mutant: reason for mutant, _, reason in named if reason}
    allowed = collections.Counter(mutant for mutant, _, reason in named if reason)
    unnamed = missed - allowed
    for mutant, times in sorted(missed.items()):
        print(f"survivor: {mutant} # {reasons.get(mutant, 'NOT NAMED')}" + (f" (x{times})" if times > 1 else ""))
    share = caught / len(built) if built else 1.0
    print(f"mutants: {len(built)} ({len(found) - len(built)} more do not compile), caught {caught}, {share:.1%} (goal {GOAL:.0%})")
    failed = bool(unnamed)
    if unnamed:
        print(f"error: {unnamed.total()} survivors are not named in {survivors}: write a test that catches them, or their reason")
    if not arguments:
        failed |= share < GOAL
        for mutant in sorted(allowed - missed):
            print(f"error: named in {survivors}, but it is caught or no more: {mutant}")
            failed = True
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
