"""`rtscope hunt` beside a sweep over all stressors: what each finds, and in what time. Takes some ten minutes for each kernel and seed.

Arguments: the program, then how many seeds [3] or which ones (`2,3`), then the kernels [6.12 stock and RT]. Beside it, computed from the sweep's own trials: how often a hunt that picks
stressors by chance would have found as much in the same time.
"""

import json
import os
import random
import subprocess
import sys
import tempfile

RTSCOPE = sys.argv[1]
SEEDS = sys.argv[2] if len(sys.argv) > 2 else "3"
SEEDS = [int(seed) for seed in SEEDS.split(",") if seed] if "," in SEEDS else list(range(1, int(SEEDS) + 1))
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, "amd64")
KERNELS = sys.argv[3:] or [f"debian/6.12/{ARCH}", f"debian/6.12-rt/{ARCH}"]
# A hunt may take this part of the sweep's time.
PART = 10


def hunt(home, kernel, seed, method, seconds):
    environment = dict(os.environ, XDG_DATA_HOME=home, RTSCOPE_ARCHIVE=os.path.join(home, "archive.db"))
    words = ["hunt", f"lab:{kernel}", "--seed", str(seed), "--method", method, "--budget", f"{seconds:.0f}s", "--json", "--quiet"]
    done = subprocess.run([RTSCOPE, *words], capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"rtscope {' '.join(words)}: {done.stderr}")
    found = json.loads(done.stdout)
    return found, journal(home)


def journal(home):
    """How long each trial took, ms, in the order in which they ended."""
    took = []
    for directory, _, files in os.walk(os.path.join(home, "rtscope", "campaigns")):
        if "journal.ndjson" in files:
            with open(os.path.join(directory, "journal.ndjson"), encoding="utf-8") as lines:
                took += [json.loads(line)["wall_ms"] for line in lines]
    return took


def by_chance(took, limit_ms, tries=2000):
    """The share of tries in which the sweep's best trial is among those that fit into a time, taken in an order by chance.

    The best one costs what a trial costs in the mean.
    """
    chance = random.Random(1)
    hits = 0
    for _ in range(tries):
        order = list(range(len(took)))
        chance.shuffle(order)
        passed = 0
        for i in order:
            passed += took[i]
            if passed > limit_ms:
                break
            if i == 0:
                hits += 1
                break
    return hits / tries


def main():
    met = True
    for kernel in KERNELS:
        for seed in SEEDS:
            with tempfile.TemporaryDirectory() as home:
                swept, took = hunt(home, kernel, seed, "sweep", 3 * 3600)
            budget = swept["wall_s"] / PART
            with tempfile.TemporaryDirectory() as home:
                found, _ = hunt(home, kernel, seed, "groups", budget)
            most, best = swept["ranking"][0], found["ranking"][0]
            fine = best["max"] >= most["max"]
            met = met and fine
            print(
                f"{kernel}, seed {seed}: sweep {swept['wall_s']:.0f} s, {swept['trials']} trials, {most['max'] / 1e3:.1f} us ({most['load']});"
                f" hunt {budget:.0f} s, {found['trials']} trials, {best['max'] / 1e3:.1f} us ({best['load']}),"
                f" found after {best['found'] / 1e9:.0f} s; goal: at least the sweep's: {'met' if fine else 'NOT met'}",
                flush=True,
            )
            jobs = os.cpu_count() or 1
            print(f"  by chance, in the same time: {100 * by_chance(took, budget * 1000 * jobs):.0f} % of tries", flush=True)
    print(f"hunt in a tenth of a sweep's time: {'met' if met else 'NOT met'}")


main()
