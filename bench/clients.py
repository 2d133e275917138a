"""Programs that call cyclictest, with `rtscope cyclictest` in its place; and the real cyclictests beside it, argument by argument.

clients.py RTSCOPE DIRECTORY [programs|SUITE...]: DIRECTORY keeps what is fetched; `programs` runs the callers alone. Ends with 1 if a caller reads
a figure that is not the record's, or if a command line is taken otherwise than EXPECTED says.
"""

import json
import math
import os
import re
import subprocess
import sys
import tempfile
from fractions import Fraction

from callers import run_all

RTSCOPE, KEEP = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
SUITES = sys.argv[3:] or ["bookworm", "trixie", "sid"]
PACKAGES = {"bookworm": "rt-tests libnuma1 libc6", "trixie": "rt-tests libnuma1 libc6",
            "sid": "rt-tests libnuma1 libc6 libcpupower1 libpci3 zlib1g"}

# Each line is given to every cyclictest and to rtscope.
LINES = """
-q -l2|-l 2 -q -m|-mq -l2 -p90|-l2 -q -Sp90 -i200|-l2 -q -S -p 90 -h 20|-l2 -q -t|-l2 -q -t2|-l2 -q -t 2|-l2 -q --threads|-l2 -q --threads=2
-l2 -q --threads 2|-l2 -q -t 0|-l2 -q -t -1|-l2 -q -t x|-l2 -q -a|-l2 -q -a 0|-l2 -q -a0|-l2 -q -a all|-l2 -q -a 0,1 -t2|-l2 -q -a 0-1 -t 2|-l2 -q -a !0
-l2 -q -a 99|-l2 -q --affinity|-l2 -q --affinity=0|-l2 -q -A|-l2 -q -A 100|-l2 -q -A100|-l2 -q --aligned=100|-l2 -q -b 1000000|-l2 -q -b 0
-l2 -q --breaktrace=1000000|-l2 -q -c 0|-l2 -q -c0|-l2 -q --clock=0|-l2 -q -c 1|-l2 -q -c 9|-l2 -q -d 0 -t2|-l2 -q -d0 -t2|-l2 -q --distance=0
-D 1 -q|-D1s -q|--duration=1 -q|-D 1m -l 2 -q|-D 0 -l2 -q|-D 1x -q -l2|-D 1.5 -q -l2|-D x -l2 -q|-l2 -q -F PIPE|-l2 -q -h 10|-l2 -q -h10|-l2 -q -h
-l2 -q -h 0|-l2 -q -h 10x|-l2 -q -h x|-l2 -q --histogram=10|-l2 -q --histogram 10|-l2 -q --histogram|-l2 -q -H 10|-l2 -q --histofall=10
-l2 -q -h 10 --histfile=FILE|-l2 -q -i 500|-l2 -q -i500|-l2 -q --interval=500|-l2 -q --json=FILE|-l2 -q --json|-l2 -q --json FILE|-l2 -q --laptop
-l2 -q --latency=10|-l2 -q --latency=x|-l2 -q --default-system|-l x -q -D 1|--loops=2 -q|--loop=2 -q|-l2 --quiet|-l2 --qui|-l2 -q --mainaffinity=0
-l2 -q --mlockall|-l2 -q --mlock|-l2 -q -M|-l2 -q --refresh_on_max|-l2 -q --refresh-on-max|-l2 -q -n|-l2 -q --nanosleep|-l2 -q -N|-l2 -q --nsecs
-l2 -q -o 5|-l2 -v -o 5|-l2 -q -p 0|-l2 -q -p 99|-l2 -q -p 100|-l2 -q -p -1|-l2 -q -p x|-l2 -q --prio=90|-l2 -q --priority=90|-l2 -q --priority 90
-l2 -q --policy=fifo -p 90|-l2 -q --policy=fifo|-l2 -q --policy=rr -p 90|-l2 -q --policy=other|-l2 -q --policy=normal|-l2 -q --policy=batch
-l2 -q --policy=idle|-l2 -q --policy=nonsense|-l2 -q --policy fifo -p 90|-l2 -q -y fifo -p 90|-l2 -q --priospread -t2 -p 90|-l2 -q -Q|-l2 -q -r
-l2 -q --relative|-l2 -q -R|-l2 -q --secaligned|-l2 -q --secaligned=100|-l2 -q -s|-l2 -q --system|-l2 -q -S|-l2 -q --smp|-l2 -q -S -t 2|-l2 -q -S -a 0
-l2 -q -t 2 -S|-l2 -q --spike=100|-l2 -q --smi|-l2 -q --tracemark|-l2 -q -u|-l2 -q --unbuffered|-l2 -v|-l2 --verbose|-l2 -q -x|-l2 -q --posix_timers
-l2 -q --dbg_cyclictest|-l2 -q -X|-l2 -q -B|-l2 -q -f|-l2 -q -U|-l2 -q -z|-l2 -q --deepest-idle-state=0|-l2 -q --numa|-l2 -q --nonsense|-l2 -q stray
-q -p 98 -i 1000 -t 2 -a all -l2 -h 400 -m --json=FILE|--mlockall -p98 --threads -a --mainaffinity=0 -l2 --histogram=500 --interval=1000 --quiet
-a2-3 -t2 -m -p99 -i250 -h700 -q -l2|-l2 stray -q|-l2 -q -- -h 10|--help|-l2 -q -p 90 --smp --mlockall --interval=200 --distance=0|-l2 -q -i 1000 -i 500
"""

# What is meant to differ: a pattern of lines, and why. Everything else is taken, passed over or refused as by cyclictest.
EXPECTED = [
    (r"(-r|--relative|-s|--system|-x|--posix_timers|--spike=\S+|-F PIPE|-c 1|--deepest-idle-state=\S+)$", "it would measure something else: refused"),
    (r"(-D x|-l x|-p x|--latency=x)\b", "cyclictest takes 0 for a number without a digit: refused"),
    (r"-v -o 5$", "cyclictest prints one sample in place of each five: -o has no effect, as rtscope says, and every sample is printed"),
    (r"(-n|--nanosleep|-y fifo -p 90|-Q)$", "an option of older cyclictests: taken"),
]
HELPED = "cyclictest prints its help, measures nothing and ends with 0: an error with exit code 2 here"


def fetch(suite):
    """The path of a command that runs the suite's cyclictest with its own libraries."""
    place = os.path.join(KEEP, suite)
    root, command = os.path.join(place, "root"), os.path.join(place, "cyclictest")
    if os.path.exists(command):
        return command
    for d in ("etc/apt.conf.d", "state/lists/partial", "cache/archives/partial", "debs", "root"):
        os.makedirs(os.path.join(place, d), exist_ok=True)
    open(os.path.join(place, "state/status"), "w").close()
    with open(os.path.join(place, "etc/sources.list"), "w") as f:
        mirror = os.environ.get("RTSCOPE_DEBIAN_MIRROR", "http://deb.debian.org/debian")
        f.write(f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {mirror} {suite} main\n")
    with open(os.path.join(place, "apt.conf"), "w") as f:
        f.write(f'Dir::Etc "{place}/etc"; Dir::Etc::sourcelist "{place}/etc/sources.list"; Dir::Etc::sourceparts "-"; Dir::State "{place}/state";\n'
                f'Dir::State::status "{place}/state/status"; Dir::Cache "{place}/cache"; Acquire::Languages "none"; APT::Sandbox::User "root";\n'
                'Acquire::Check-Valid-Until "false";\n')
    env = {**os.environ, "APT_CONFIG": os.path.join(place, "apt.conf")}
    subprocess.run(["apt-get", "update", "-qq"], env=env, check=True)
    debs = os.path.join(place, "debs")
    subprocess.run(["apt-get", "download", "-qq", *PACKAGES[suite].split()], env=env, check=True, cwd=debs)
    for deb in sorted(os.listdir(debs)):
        subprocess.run(["dpkg", "-x", os.path.join(debs, deb), root], check=True)
    loaders = [os.path.join(d, f) for d, _, files in os.walk(root) for f in files if re.fullmatch(r"ld-linux.*\.so\.\d", f)]
    libraries = sorted({d for d, _, files in os.walk(root) for f in files if ".so" in f})
    with open(command, "w") as f:
        f.write(f'#!/bin/sh\nexec {loaders[0]} --library-path {":".join(libraries)} {root}/usr/bin/cyclictest "$@"\n')
    os.chmod(command, 0o755)
    return command


def run(program, words, directory):
    env = {**os.environ, "RTSCOPE_ARCHIVE": os.path.join(directory, "archive.db")}
    try:
        p = subprocess.run([*program, *words], capture_output=True, text=True, timeout=20, cwd=directory, stdin=subprocess.DEVNULL, env=env)
    except subprocess.TimeoutExpired:
        return "hangs", None, ""
    if re.search(r"^T: ?\d+ .*C: *\d|^# Total:|^# Max Latencies|^ +0: +\d+:", p.stdout, re.M):
        return "measures", p.returncode, p.stdout
    # rtscope has its own words for its help.
    helped = "Usage:" in p.stdout + p.stderr and p.returncode == 0
    return "helps" if helped else "refuses", p.returncode, p.stdout + p.stderr


def arguments(directory):
    """Every line by every cyclictest; returns the number of differences that nobody expects."""
    real = {suite: [fetch(suite)] for suite in SUITES}
    lines = [line for row in LINES.strip().splitlines() for line in row.split("|")]
    wrong, meant = 0, 0
    for line in lines:
        words = line.replace("FILE", "file").replace("PIPE", "pipe").split()
        theirs = {suite: run(command, words, directory)[0] for suite, command in real.items()}
        own = run([RTSCOPE, "cyclictest"], words, directory)
        # Where they differ from one another, it stands in EXPECTED which of them rtscope follows.
        if {own[0]} == set(theirs.values()):
            continue
        why = next((why for pattern, why in EXPECTED if re.search(pattern, line)), None)
        if why is None and own[0] == "refuses" and own[1] == 2 and set(theirs.values()) == {"helps"}:
            why = HELPED
        meant, wrong = meant + (why is not None), wrong + (why is None)
        said = ", ".join(f"{s} {w}" for s, w in theirs.items())
        print(f"  {line}: {said}; rtscope {own[0]} ({own[1]}){': ' + why if why else ' UNEXPECTED'}")
    versions = {suite: run(command, ["-V"], directory)[2].splitlines() for suite, command in real.items()}
    own = run([RTSCOPE, "cyclictest"], ["-V"], directory)[2].splitlines()
    first = re.compile(r"cyclictest V \d+\.\d+")
    bad = [s for s, said in versions.items() if not any(first.match(line) for line in said)] + ([] if first.match(own[0]) else ["rtscope"])
    print(f"arguments: {len(lines)} lines by the cyclictest of {', '.join(SUITES)}: {len(lines) - meant - wrong} the same, {meant} differ as documented, "
          f"{wrong} unexpected; -V: {'the same first line' if not bad else bad}")
    return wrong + len(bad)


def hdrhistogram(directory):
    """The V2 histograms by Python's hdrhistogram, beside the exact counts of the raw samples."""
    venv = os.path.join(KEEP, "venv")
    python = os.path.join(venv, "bin/python")
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([os.path.join(venv, "bin/pip"), "install", "-q", "hdrhistogram==0.10.8"], check=True)
    raw = os.path.join(directory, "raw.csv")
    # 1370 samples: 99 % are 1356.3.
    done = subprocess.run([RTSCOPE, "measure", "timer", "-l", "1370", "-i", "500us", "-t", "1", "--raw", raw, "--json", "--no-save"],
                          capture_output=True, text=True, check=False)
    # 4: measured, but INVALID on such a machine.
    if done.returncode not in (0, 4):
        sys.exit(f"error: rtscope measure ended with {done.returncode}: {done.stderr.strip()}")
    d = json.loads(done.stdout)["distributions"][0]
    with open(raw) as f:
        samples = sorted(int(line.rsplit(",", 1)[1]) for line in list(f)[1:])
    code = ("import json,sys; from hdrh.histogram import HdrHistogram as H; h = H.decode(sys.argv[1]);"
            "print(json.dumps([h.get_total_count(), *(h.get_value_at_percentile(float(p)) for p in sys.argv[2:])]))")
    names = ["50", "90", "95", "99", "99.9"]
    total, *theirs = json.loads(subprocess.run([python, "-c", code, d["histogram"], *names], check=True, capture_output=True, text=True).stdout)
    wrong = int(total != len(samples))
    for name, other in zip(names, theirs):
        exact = Fraction(name) * len(samples) / 100
        up, near = samples[math.ceil(exact) - 1], samples[max(int(exact + Fraction(1, 2)), 1) - 1]
        own = d["percentiles"].get(f"p{name}")
        # The upper end of the slot that holds the sample, at most 0.1 % above it.
        ours_right, theirs_near = up <= own <= up * 1.001 + 1, near <= other <= near * 1.001 + 1
        wrong += not ours_right or not theirs_near
        print(f"  p{name}: sample {math.ceil(exact)} of {len(samples)} is {up}, rtscope {own}, hdrhistogram {other} (its sample: {int(exact + Fraction(1, 2))})")
    print(f"hdrhistogram: {total} samples read; {wrong} percentiles not as explained")
    return wrong


def main():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        os.makedirs(KEEP, exist_ok=True)
        wrong = run_all(RTSCOPE, KEEP, directory)
        if SUITES != ["programs"]:
            wrong += hdrhistogram(directory) + arguments(directory)
    sys.exit(1 if wrong else 0)


main()
