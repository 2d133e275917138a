"""What commands on an archive of 100,000 records cost: time and peak memory, against the stated goals."""

import os
import subprocess
import sys
import tempfile
import time

RTSCOPE, MANY, RECORDS = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 100_000
SECONDS, MIB = 10, 200


def cost(command, code=0):
    """Wall and CPU seconds, and the peak of resident memory in MiB. By a small process of its own, whose peak the child does not inherit."""
    watch = ("import os,sys,time\n"
             "start = time.monotonic(); pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ,"
             " file_actions=[(os.POSIX_SPAWN_OPEN, 1, '/dev/null', os.O_WRONLY, 0)])\n"
             "_, status, used = os.wait4(pid, 0)\n"
             "print(os.waitstatus_to_exitcode(status), time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss)")
    said = subprocess.run([sys.executable, "-S", "-c", watch, *command], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    assert int(said[0]) == code, (command, said)
    return float(said[1]), float(said[2]), int(said[3]) / 1024


def main():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        archive, base = os.path.join(directory, "archive.db"), os.path.join(directory, "base.json")
        with open(base, "w") as f:
            # The exit code tells whether this machine is fit to measure, which does not matter here.
            subprocess.run([RTSCOPE, "--quiet", "measure", "timer", "-D", "1s", "--no-save", "--json"], stdout=f, check=False)
        subprocess.run([MANY, base, archive, str(RECORDS)], check=True)
        subprocess.run(["cat", archive], check=True, stdout=subprocess.DEVNULL)  # into the page cache
        start = time.monotonic()
        ids = [f"20260101T000000Z-{i:06x}" for i in range(0, RECORDS, max(1, RECORDS // 1000))]
        for words in (["list"], ["list", "--json"], ["show", "all"], ["show", "all", "--json"], ["export", "all", "--format", "json"],
                      ["export", "all", "--format", "csv"], ["compare", "load=none", "load=full"], ["compare", "all"], ["verify"],
                      ["report", "last=200", "-o", os.path.join(directory, "page.html")], ["remove", *ids]):
            wall, cpu, mib = cost([RTSCOPE, "--archive", archive, *words])
            name = " ".join(words[:3]) if words[0] != "remove" else f"remove {len(ids)} ids"
            met = "met" if wall <= SECONDS and mib <= MIB else "NOT met"
            print(f"{RECORDS:,} records: {name:24} {wall:7.2f} s ({cpu:6.2f} s of CPU) {mib:8.1f} MiB  goal <= {SECONDS} s, {MIB} MiB: {met}",
                  flush=True)
        print(f"{'':34} {time.monotonic() - start:.0f} s in all")


main()
