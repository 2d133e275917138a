"""Programs that call cyclictest, run unchanged with `rtscope cyclictest` in its place: what they read must be the record's figures.

Their sources are no part of rtscope: they are taken from the directory RTSCOPE_CLIENTS, or fetched from where they are published. Each works
on a copy. What they read and how is their business; here it is only collected from what they print or write.
"""

import glob
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
import xml.etree.ElementTree as ElementTree

# Where each is published, the commit that this was tried with, and what of it is needed. mmtests a few commits later reads nothing at all:
# its reader of cyclictest then calls a function that it has not.
PUBLISHED = {
    "test-definitions": ("https://github.com/Linaro/test-definitions", "4212946b414ed0a3d305e054f973d423ef0e00b9",
                         ["automated/lib", "automated/linux/cyclictest"]),
    "rteval": ("https://git.kernel.org/pub/scm/utils/rteval/rteval.git", "7e2fae40e551530f6d0ad8528c4de1ec2ae9e31b", ["."]),
    "checkbox": ("https://github.com/canonical/checkbox", "bda305fa5dceaaab913fcb658e7f5fd12d8c4d7e", ["providers/base/bin"]),
    "mmtests": ("https://github.com/gormanm/mmtests", "e90bb4ca6528437ad9fcf3729844f0cc35dc15cf", ["."]),
}
PLOT = "mklatencyplot.bash"
PLOT_PUBLISHED = "https://www.osadl.org/uploads/media/mklatencyplot.bash"


class LeftOut(Exception):
    """A client that can't be run here, and why."""


class Wrong(Exception):
    """A client that did not come to an end, or read nothing."""


class Stage:
    """A directory in which one client works, with `cyclictest` first on the PATH and an archive of its own."""

    def __init__(self, rtscope, within, before=""):
        self.rtscope = rtscope
        self.path = tempfile.mkdtemp(dir=within)
        self.archive = os.path.join(self.path, "archive.db")
        self.started = os.path.join(self.path, "started")
        self.command = os.path.join(self.path, "bin", "cyclictest")
        os.mkdir(os.path.dirname(self.command))
        # A client may end it by a signal, so it stays one process.
        with open(self.command, "w") as f:
            f.write(f'#!/bin/sh\necho $$ >>{shlex.quote(self.started)}\n{before}exec {shlex.quote(rtscope)} cyclictest "$@"\n')
        os.chmod(self.command, 0o755)
        self.env = {**os.environ, "PATH": f"{os.path.dirname(self.command)}:{os.environ['PATH']}", "RTSCOPE_ARCHIVE": self.archive}

    def copy(self, source, part, to=None):
        """A copy of a part of a client's source; returns its path."""
        own = os.path.join(self.path, to or part)
        shutil.copytree(os.path.join(source, part), own, symlinks=True, ignore=shutil.ignore_patterns(".git", "work"))
        return own

    def empty_file(self, path):
        """A file that this machine lacks is an empty one for clients in Python."""
        with open(os.path.join(self.path, "sitecustomize.py"), "w") as f:
            f.write(f"import builtins\nreal = builtins.open\ninstead = {{{path!r}: '/dev/null'}}\n"
                    "builtins.open = lambda file, *a, **k: real(instead.get(file, file), *a, **k)\n")
        self.env["PYTHONPATH"] = self.path

    def start(self, words, directory):
        return subprocess.Popen(words, cwd=directory, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, errors="replace", start_new_session=True)

    def end(self, process, patience=120):
        """What it printed; one that does not end is ended, with all that it started."""
        try:
            return process.communicate(timeout=patience)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise Wrong(f"{shlex.join(process.args)} still ran after {patience} s: {process.communicate()[0][-500:]}") from None

    def call(self, words, directory, patience=120):
        process = self.start(words, directory)
        said = self.end(process, patience)
        return process.returncode, said

    def said_by_rtscope(self, *words):
        return json.loads(subprocess.run([self.rtscope, *words, "--json"], env=self.env, capture_output=True, text=True, check=True).stdout)

    def runs(self):
        """The runs in the archive."""
        return self.said_by_rtscope("list") if os.path.exists(self.archive) else []

    def record(self, said):
        """The record of the one run that the client made."""
        runs = self.runs()
        if len(runs) != 1:
            raise Wrong(f"{len(runs)} runs in the archive, not 1; the client said: {said[-800:]}")
        return self.said_by_rtscope("show", runs[0]["id"])


class Clients:
    def __init__(self, rtscope, keep, directory):
        self.rtscope, self.keep, self.directory = rtscope, os.path.join(keep, "sources"), directory
        self.given = os.environ.get("RTSCOPE_CLIENTS")

    def stage(self, before=""):
        return Stage(self.rtscope, self.directory, before)

    def source(self, name):
        """The directory with the source of a client."""
        if self.given and os.path.isdir(os.path.join(self.given, name)):
            return os.path.abspath(os.path.join(self.given, name))
        place = os.path.join(self.keep, name)
        if os.path.isdir(place):
            return place
        url, commit, parts = PUBLISHED[name]
        new = place + ".new"
        shutil.rmtree(new, ignore_errors=True)
        for words in (["clone", "-q", "--filter=blob:none", "--no-checkout", url, new], ["-C", new, "checkout", "-q", commit, "--", *parts]):
            env = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
            done = subprocess.run(["git", *words], env=env, capture_output=True, text=True, timeout=600, check=False)
            if done.returncode:
                shutil.rmtree(new, ignore_errors=True)
                raise LeftOut(f"{done.stderr.strip().splitlines()[-1]}; put a checkout of {url} into DIR/{name} and set RTSCOPE_CLIENTS=DIR")
        os.rename(new, place)
        return place

    def plotting_script(self):
        if self.given and os.path.exists(os.path.join(self.given, PLOT)):
            return os.path.abspath(os.path.join(self.given, PLOT))
        place = os.path.join(self.keep, PLOT)
        if not os.path.exists(place):
            try:
                with urllib.request.urlopen(PLOT_PUBLISHED, timeout=60) as page:
                    text = page.read()
            except OSError as error:
                raise LeftOut(f"{PLOT_PUBLISHED}: {error}; put it into DIR/{PLOT} and set RTSCOPE_CLIENTS=DIR") from None
            os.makedirs(self.keep, exist_ok=True)
            with open(place, "wb") as f:
                f.write(text)
        return place


def words_of(record):
    """The words that the client gave."""
    command = record["settings"]["command"]
    return shlex.join(command[command.index("cyclictest") + 1:])


def figures(record):
    """Each thread's figures in whole us, as cyclictest prints them, and its bins."""
    found = []
    for d in record["distributions"]:
        bins = dict(d["linear"]["counts"]) if "linear" in d else {}
        f = {"min": 1000000, "avg": 0, "max": 0, "mean": 0.0, "bins": bins, "over": d["count"] - sum(bins.values())}
        if d["count"]:
            f.update(min=d["min"] // 1000, avg=int(d["sum"]) // 1000 // d["count"], max=d["max"] // 1000, mean=round(d["mean"] / 1000, 2))
        found.append(f)
    return found


def judge(name, record, read, want, remark=""):
    """Prints a line; returns how many of the figures that were read are not the record's."""
    wrong = [f"{key}: read {value}, the record has {want.get(key)}" for key, value in read.items() if want.get(key) != value]
    shown = " ".join(f"{f['min']}/{f['avg']}/{f['max']}" for f in figures(record))
    print(f"  {name}: cyclictest {words_of(record)}\n    {len(read)} figures read, {len(wrong)} not the record's (min/avg/max of each thread: "
          f"{shown} us){remark}")
    for line in wrong[:10]:
        print(f"    {line}")
    if not read:
        raise Wrong(f"{name} read no figure")
    return len(wrong)


def linaro(clients):
    """test-definitions: one pinned thread, a thread for each CPU, and the latter with a histogram beside a background command."""
    source, wrong = clients.source("test-definitions"), 0
    for options in ([], ["-t", "0"], ["-t", "0", "-h", "400", "-w", "true"]):
        stage = clients.stage()
        stage.copy(source, "automated/lib")
        place = stage.copy(source, "automated/linux/cyclictest")
        status, said = stage.call(["sh", "./cyclictest.sh", "-D", "2", *options], place)
        record = stage.record(said)
        with open(os.path.join(place, "output", "result.txt")) as f:
            result = f.read()
        read = {key: float(value) for key, value in re.findall(r"^(t\d+-\w+)-latency pass (\S+) us$", result, re.M)}
        keys = (("min", "min"), ("avg", "mean"), ("max", "max"))
        want = {f"t{i}-{name}": float(f[key]) for i, f in enumerate(figures(record)) for name, key in keys}
        wrong += judge(" ".join(["Linaro's cyclictest.sh", *options]), record, read, want)
        if status or set(read) != set(want) or not re.search("^cyclictest pass$", result, re.M):
            raise Wrong(f"exit code {status}: {result}\n{said[-800:]}")
    return wrong


def rteval(clients):
    """Without its loads: once for a few seconds, which it ends by a signal, and once until a latency ends it."""
    source, wrong = clients.source("rteval"), 0
    if subprocess.run(["/usr/bin/python3", "-c", "import libxml2, lxml.etree, requests"], capture_output=True, check=False).returncode:
        raise LeftOut("Debian's Python lacks libxml2, lxml or requests (apt-get install python3-libxml2 python3-lxml python3-requests)")
    for options in ([], ["--cyclictest-breaktrace=1"]):
        # It gives no figures where a latency is above its histogram: then again with a larger one.
        for larger in ([], ["--cyclictest-buckets=200000"]):
            stage = clients.stage()
            if not os.path.exists("/proc/modules"):
                # It lists the kernel's modules, and ends without a report where the kernel can have none.
                stage.empty_file("/proc/modules")
            place = stage.copy(source, ".", "rteval")
            words = ["/usr/bin/python3", os.path.join(place, "rteval-cmd"), "-f", os.path.join(place, "rteval.conf"), "-d", "3", "--noload"]
            _, said = stage.call([*words, *options, *larger, "-w", stage.path], stage.path)
            if "exceeded histogram range" not in said:
                break
        record = stage.record(said)
        files = glob.glob(os.path.join(stage.path, "rteval-*", "summary.xml"))
        if not files:
            raise Wrong(f"rteval wrote no report: {said[-1500:]}")
        test = next(ElementTree.parse(files[0]).iter("cyclictest"))
        read, want = {}, {}
        for core in test.findall("core"):
            for name in ("samples", "minimum", "maximum", "mean"):
                figure = core.find(f"statistics/{name}")
                if figure is not None:
                    read[f"cpu{core.get('id')} {name}"] = float(figure.text)
            for bucket in core.iter("bucket"):
                read[f"cpu{core.get('id')} bin {bucket.get('index')}"] = float(bucket.get("value"))
        for d, f in zip(record["distributions"], figures(record)):
            bins, label = f["bins"], d["label"]
            total = sum(bins.values())
            want[f"{label} samples"] = total
            want.update({f"{label} bin {index}": n for index, n in bins.items()})
            if total:
                want[f"{label} minimum"], want[f"{label} maximum"] = min(bins), f["max"]
                # It computes none of a single sample.
                want[f"{label} mean"] = sum(index * n for index, n in bins.items()) / total if total > 1 else 0
        broken = test.find("abort_report/breaktrace")
        if broken is not None:
            read["the latency that ended it"] = float(broken.get("measured_latency"))
            above = [(w["at"], w["value"]) for d in record["distributions"] for w in d["worst"] if w["value"] > 1000]
            want["the latency that ended it"] = min(above)[1] // 1000
        remark = "" if os.path.exists("/proc/modules") else "; /proc/modules, which this kernel lacks, was an empty file for it"
        wrong += judge(" ".join(["rteval", *options]), record, read, want, remark)
        if set(read) != set(want) or (broken is None) != (not options):
            raise Wrong(f"figures missing: {sorted(set(want) ^ set(read))[:10]}: {said[-800:]}")
    return wrong


def osadl(clients):
    """The script of OSADL's latency plots. Its 100 million cycles take hours: Ctrl-C to cyclictest alone ends them, and the script goes on."""
    script = clients.plotting_script()
    stage = clients.stage()
    process = stage.start(["bash", script], stage.path)
    for _ in range(100):
        if os.path.exists(stage.started) or process.poll() is not None:
            break
        time.sleep(0.1)
    time.sleep(3)
    if process.poll() is None:
        with open(stage.started) as f:
            os.kill(int(f.read()), signal.SIGINT)
    said = stage.end(process)
    record = stage.record(said)
    read, want = {}, {}
    with open(os.path.join(stage.path, "plotcmd")) as f:
        read["max"] = int(re.search(r"max (\d+) us", f.read()).group(1))
    want["max"] = max(f["max"] for f in figures(record))
    rows = range(record["settings"]["linear_bins"][0])
    for i, f in enumerate(figures(record)):
        want.update({f"CPU{i} bin {row}": f["bins"].get(row, 0) for row in rows})
        with open(os.path.join(stage.path, f"histogram{i + 1}")) as columns:
            read.update({f"CPU{i} bin {int(row)}": int(n) for row, n in (line.split("\t") for line in columns)})
    plot = os.path.join(stage.path, "plot.png")
    drawn = os.path.exists(plot) and open(plot, "rb").read(4) == b"\x89PNG"
    if shutil.which("gnuplot") and not drawn:
        raise Wrong(f"no plot: {said[-800:]}")
    remark = "; gnuplot drew plot.png" if drawn else "; gnuplot, which draws them, is not installed"
    wrong = judge("OSADL's mklatencyplot", record, read, want, remark)
    if set(read) != set(want):
        raise Wrong(f"rows missing: {len(want)} expected")
    return wrong


def checkbox(clients):
    """run_cyclictest.py, which has no option for its CPUs, 2 and 3."""
    source = clients.source("checkbox")
    before = ""
    if not {2, 3} <= os.sched_getaffinity(0):
        stage = clients.stage()
        script = os.path.join(source, "providers/base/bin/run_cyclictest.py")
        status, said = stage.call([sys.executable, script, "--duration=2"], stage.path)
        own = subprocess.run(["chrt", "-f", "99", stage.command, "-a2-3", "-t2", "-m", "-p99", "-i250", "-h700", "-q", "-D", "2"], env=stage.env,
                             capture_output=True, text=True, check=False)
        if status == 0 or own.returncode != 2 or stage.runs():
            raise Wrong(f"on CPUs that do not exist it ends with {status}, rtscope with {own.returncode}: {own.stderr[-800:]}")
        print(f"  checkbox's run_cyclictest.py can't be run unchanged here: it has no option for its CPUs, 2 and 3\n    it ends with {status}: "
              f"{said.strip()}\n    rtscope cyclictest ends with {own.returncode}: {own.stderr.strip()}")
        # All else as it is.
        before = '[ "$1" = -a2-3 ] && { shift; set -- -a0-1 "$@"; }\n'
    stage = clients.stage(before)
    place = stage.copy(source, "providers/base/bin")
    status, said = stage.call([sys.executable, "run_cyclictest.py", "--duration=3"], place)
    record = stage.record(said)
    maxima, over = re.findall(r"Latency : (\d+)", said), re.findall(r"Overflow: (\d+)", said)
    read = {f"thread {i} {name}": int(n) for name, all in (("max", maxima), ("overflow", over)) for i, n in enumerate(all)}
    want = {f"thread {i} {name}": f[key] for i, f in enumerate(figures(record)) for name, key in (("max", "max"), ("overflow", "over"))}
    remark = f"; its verdict (at most 100 us): exit code {status}" + ("; -a0-1 in place of -a2-3" if before else "")
    wrong = judge("checkbox's run_cyclictest.py", record, read, want, remark)
    if set(read) != set(want):
        raise Wrong(said[-800:])
    return wrong


def mmtests(clients):
    """Its own configuration for cyclictest, shorter, without monitors; with and without a histogram. rtscope is where its rt-tests would be."""
    source, wrong = clients.source("mmtests"), 0
    if subprocess.run(["perl", "-MFile::Slurp", "-e", "1"], capture_output=True, check=False).returncode:
        raise LeftOut("Perl lacks File::Slurp (apt-get install libfile-slurp-perl)")
    if not os.access("/usr/bin/time", os.X_OK):
        raise LeftOut("there is no /usr/bin/time (apt-get install time)")
    with open(os.path.join(source, "shellpack_src/src/cyclictest/cyclictest-bench")) as f:
        bench = f.read()
    for bins in ("500", ""):
        stage = clients.stage()
        # It looks for nothing that it would install or build.
        stage.env["ASSUME_PACKAGE_INSTALLED"] = "yes"
        place = stage.copy(source, ".", "mmtests")
        variables = {**dict(re.findall(r"^(\w+)=(\S+)$", bench, re.M)), "VERSION": re.search(r"preamble \S+ (\S+)", bench).group(1)}
        for name in re.findall(r"check_external_install_required +\S+\s+(\S+)", bench):
            installed = os.path.join(place, "work/sources", re.sub(r"\$\{(\w+)\}", lambda m: variables[m[1]], name) + "-installed")
            os.makedirs(installed)
            os.symlink(stage.command, os.path.join(installed, "cyclictest"))
        shorter = os.path.join(stage.path, "shorter")
        with open(shorter, "w") as f:
            f.write(f"export CYCLICTEST_DURATION=2\nexport CYCLICTEST_HISTOGRAM={bins}\n")
        config = "configs/config-workload-cyclictest-histogram-none"
        _, said = stage.call(["./run-mmtests.sh", "--no-monitor", "--config", config, "--config", shorter, "here"], place, 300)
        record = stage.record(said)
        _, out = stage.call(["./bin/extract-mmtests.pl", "-d", "work/log", "-b", "cyclictest", "-n", "here"], place)
        if "Undefined subroutine" in out:
            raise LeftOut(f"its own reader does not work: {out.strip()}; take commit {PUBLISHED['mmtests'][1]}")
        lines = [line.split() for line in out.splitlines() if re.match(r"(Min|Avg|Max|Overflow)-\d", line)]
        read = {line[0]: float(line[-1]) for line in lines}
        threads = figures(record)
        keys = (("Min", "min"), ("Avg", "avg"), ("Max", "max"), ("Overflow", "over"))
        want = {f"{name}-{i}": f[key] for i, f in enumerate(threads) for name, key in keys}
        remark = "; of the lines below a histogram it reads all threads but the last, whoever wrote them" if bins else ""
        wrong += judge(f"mmtests, {'histogram of ' + bins if bins else 'no histogram'}", record, read, want, remark)
        # It takes a 0 for no figure, and ends there: the overflows, which come last.
        few = 3 * (len(threads) - 1) if bins else 2 * len(threads)
        if len(read) < few:
            raise Wrong(f"{len(read)} figures read, not {few}: {out[-500:]}\n{said[-1500:]}")
    return wrong


def run_all(rtscope, keep, directory):
    """Runs each client; returns how many figures differ, with 1 for each client that failed otherwise."""
    clients, wrong = Clients(rtscope, keep, directory), 0
    for client in (linaro, rteval, osadl, checkbox, mmtests):
        name = client.__name__
        try:
            if os.geteuid() != 0:
                raise LeftOut("it needs root, for real-time priorities")
            os.makedirs(clients.keep, exist_ok=True)
            different = client(clients)
            print(f"{name}: {different} figures differ from the record's")
            wrong += different
        except LeftOut as why:
            print(f"left out: {name}: {why}")
        except (Wrong, OSError, KeyError, ValueError, subprocess.CalledProcessError) as why:
            print(f"{name}: FAILED: {type(why).__name__}: {why}")
            wrong += 1
    return wrong
