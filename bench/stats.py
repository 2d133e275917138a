"""What the statistics take: `rtscope compare` of 2 x 20 runs, and `rtscope tail` of a record of 10^7 samples and of as many numbers.

Arguments: the program. The runs are of a scripted target (`fake:`), which gives each sample from a file; the goals are CPU time, which other work on
this machine does not change much.
"""

import json
import os
import random
import resource
import subprocess
import sys
import tempfile

RTSCOPE = sys.argv[1]
SAMPLES, RUNS = 10_000_000, 20


def cpu(words, environment):
    """CPU time that a command takes, s, and its output; ends with it if it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([RTSCOPE, *words], capture_output=True, text=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # 4: what is scripted is INVALID.
    if done.returncode not in (0, 4):
        sys.exit(f"rtscope {' '.join(words)}: {done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def latencies(path, count, height, seed=1):
    chance = random.Random(seed)
    with open(path, "w", encoding="ascii") as out:
        for _ in range(count // 10_000):
            out.write("".join(f"{height + int(chance.expovariate(1e-4))}\n" for _ in range(10_000)))


def main():
    kept = True
    with tempfile.TemporaryDirectory() as home:
        environment = dict(os.environ, XDG_DATA_HOME=home, RTSCOPE_ARCHIVE=os.path.join(home, "archive.db"))
        long = os.path.join(home, "long.txt")
        latencies(long, SAMPLES, 1000)
        sides = []
        for height in (1000, 1200):
            side = os.path.join(home, f"{height}.json")
            records = []
            for i in range(RUNS):
                path = os.path.join(home, "run.txt")
                latencies(path, 100_000, height, seed=height + i)
                words = ["measure", "timer", "--target", f"fake:{path}", "-i", "100us", "-l", "100000", "--threads", "1", "--json", "--no-save"]
                record = json.loads(cpu(words, environment)[1])
                # Scripted runs are INVALID, and INVALID runs don't count: for this bench they are of this machine.
                record.update(id=f"{height}-{i}", target="local", origin="measured", warnings=[], verdict="VALID")
                records.append(record)
            with open(side, "w", encoding="utf-8") as out:
                json.dump(records, out)
            sides.append(side)
        rows = []
        took, text = cpu(["compare", *sides, "--json"], environment)
        words = {row["word"] for load in json.loads(text)["runs"] for row in load["rows"]}
        rows.append((f"compare 2 x {RUNS} runs of 100,000 samples", took, 2.0))
        cpu(["measure", "timer", "--target", f"fake:{long}", "-i", "100us", "-l", str(SAMPLES), "--threads", "1"], environment)
        rows.append((f"tail of a record of {SAMPLES:,} samples", cpu(["tail", "--json"], environment)[0], 5.0))
        rows.append((f"tail --values of {SAMPLES:,} numbers, threshold", cpu(["tail", "--values", long, "--threshold", "0.1%", "--json"], environment)[0], 5.0))
    for what, took, goal in rows:
        kept &= took < goal
        print(f"{what:<50} {took:6.2f} s CPU   goal < {goal:.0f} s  {'kept' if took < goal else 'NOT kept'}")
    print(f"words of that comparison: {', '.join(sorted(words))}")
    sys.exit(0 if kept else 1)


main()
