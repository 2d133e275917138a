"""What the virtual lab costs: seconds to the first sample, wall seconds for a virtual one, memory, the campaign of stock against RT."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

RTSCOPE, CAMPAIGN = sys.argv[1], sys.argv[2]
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, "amd64")
STOCK, RT = f"debian/6.12/{ARCH}", f"debian/6.12-rt/{ARCH}"


def timed(*words):
    start = time.monotonic()
    done = subprocess.run([RTSCOPE, *words], capture_output=True, text=True)
    took = time.monotonic() - start
    if done.returncode:
        sys.exit(f"rtscope {' '.join(words)}: {done.stderr}")
    return took, done.stdout


def measure(kernel, *words):
    return timed("measure", "timer", "--target", f"lab:{kernel}", "--no-save", "--quiet", "--json", *words)[0]


def report(what, value, unit, goal=None):
    verdict = "" if goal is None else f"  goal <= {goal} {unit}: {'met' if value <= goal else 'NOT met'}"
    print(f"{what:58} {value:8.2f} {unit}{verdict}", flush=True)


def main():
    for kernel in (STOCK, RT):
        timed("lab", "kernels", "fetch", kernel)
    for kernel in (STOCK, RT):
        measure(kernel, "-l", "1")  # makes the image and the state
    # One sample, so that the time includes everything that a command does before and after it.
    report("command to first sample, from a kept state", statistics.median(measure(RT, "-l", "1") for _ in range(7)), "s", 1.0)
    # Boots for this run alone: a state that is kept would be on disk only half a second after the sample.
    boots = statistics.median(measure(RT, "-l", "1", "--fresh-boot") for _ in range(5))
    report("command to first sample, with the boot", boots, "s", 8.0)
    for load in ("none", "calculation", "network", "full"):
        for kernel in (STOCK, RT):
            short, long = (measure(kernel, "-D", d, "--load", load) for d in ("1s", "4s"))
            report(f"wall seconds for a virtual one, {load}, {kernel}", (long - short) / 3, "s")
    booted = json.loads(timed("lab", "boot", RT, "--json")[1])
    report("guest's memory in use after the boot", booted["memory_used_kib"] / 1024, "MiB")
    report("QEMU's resident memory then", booted["host_memory_kib"] / 1024, "MiB")
    with tempfile.TemporaryDirectory() as state:
        took, _ = timed("--archive", os.path.join(state, "a.db"), "campaign", "run", CAMPAIGN, "--state", state, "--quiet")
    report(f"{os.path.basename(CAMPAIGN)}: two kernels, six loads, five seeds, 3 s each", took / 60, "min", 15.0)


main()
