//! Which of `fio:ARGS` is accepted, and fio's figures, whole and damaged.

use super::*;
use proptest::prelude::*;

fn asked(text: &str) -> Result<ArgumentsJob, Refused> {
    own(&text.split(' ').filter(|w| !w.is_empty()).map(Into::into).collect::<Vec<_>>())
}

#[test]
fn what_writes_elsewhere_starts_programs_or_lives_longer_is_refused() {
    for word in [
        "--filename=/etc/passwd",
        "--filename=../x",
        "--filename=/dev/sda",
        "--directory=/",
        "--opendir=/",
        "--filename_format=/x",
        "--output=/etc/passwd",
        "--output-format=normal",
        "--aux-path=/",
        "--aux_path=/",
        "--write_bw_log=/x",
        "--write_lat_log",
        "--write_iops_log=x",
        "--write_hist_log=x",
        "--write_iolog=/x",
        "--read_iolog=/x",
        "--bandwidth-log",
        "--per_job_logs=1",
        "--exec_prerun=reboot",
        "--exec_postrun=reboot",
        "--trigger=reboot",
        "--trigger-file=/x",
        "--client=host",
        "--server",
        "--server=sock:/x",
        "--daemonize=/x",
        "--remote-config=x",
        "--idle-prof=system",
        "--profile=tiobench",
        "--ioengine=external:/x.so",
        "--ioengine=libhdfs",
        "--ioengine=net",
        "--ioengine=rdma",
        "--ioengine=exec",
        "--ioengine=filedelete",
        "--ioengine=cpuio",
        "--ioengine=null",
        "--ioengine=sg",
        "--ioengine",
        "--ioscheduler=none",
        "--cgroup=x",
        "--cgroup_nodelete=1",
        "--uid=0",
        "--blktrace=x",
        "--fill_device=1",
        "--fill_fs=1",
        "--size=100%",
        "--size=0",
        "--size=2000g",
        "--size=1t",
        "--size=-1",
        "--size=(1024*1024)",
        "--size=0xffffffff",
        "--size=${SIZE}",
        "--size=64m:/x",
        "--size=64m,64m",
        "--size=",
        "--size=9999999999999999999999g",
        "--size=64mé",
        "--filesize=1g",
        "--io_size=1g",
        "--offset=1g",
        "--file_append=1",
        "--numjobs=100000",
        "--numjobs=0",
        "--iodepth=100000",
        "--bs=1g",
        "--bs=4k,8k,16k",
        "--bsrange=4k-1g",
        "--nrfiles=1000000",
        "--lockmem=100g",
        "--thread",
        "--thread=1",
        "--name=x",
        "--section=x",
        "--showcmd=x",
        "--parse-only",
        "--cmdhelp",
        "--help",
        "--version",
        "--debug=all",
        "--runtime=1",
        "--runtime",
        "--time_based=0",
        "--timeout=5",
        "--loops=1",
        "--rate=1k",
        "--thinktime=1s",
        "--prioclass=1",
        "--nice=-20",
        "--cpus_allowed=0",
        "--mem=mmaphuge:/x",
        "--hugepage-size=4m",
        "--verify=md5",
        "--verify_state_save=1",
        "--unlink_each_loop=1",
        "--trim_percentage=50",
        "--steadystate=iops:1%",
        "--continue_on_error=all",
        "--ignore_error=EIO",
        "--merge_blktrace_file=x",
        "--allow_mounted_write=1",
        "--read_only",
        // Abbreviations, other spellings, no options.
        "--siz=1g",
        "--out=/x",
        "--direc=/",
        "-rw=read",
        "-o",
        "--=1",
        "--",
        "-",
        "job.fio",
        "/etc/passwd",
        "--DIRECT=1",
        "--direct",
        "--direct=yes",
        "--direct=2",
        "--sync=/x",
    ] {
        let said = asked(&format!("--rw=randwrite {word}"));
        assert!(matches!(&said, Err(r) if r.word == word && !r.reason.is_empty()), "{word}: {said:?}");
    }
    for all in [
        "",
        "--bs=4k",
        "--rw=trim",
        "--rw=randwrite:8",
        "--rw",
        "--rw randwrite",
        "--rw=read --rw=write",
        "--rw=read --readwrite=write",
        "--rw=read --bs=4k --blocksize=8k",
        "--rw=read --size=1m --size=900g",
        "--rw=write --numjobs=128 --iodepth=256 --bs=16m",
    ] {
        assert!(asked(all).is_err(), "{all}");
    }
}

#[test]
fn what_it_may_have_on_disk_is_known_before() {
    let job = asked("--rw=randrw --bs=4k --size=16M --numjobs=4 --direct=1 --ioengine=libaio --iodepth=32 --rwmixread=70").unwrap();
    assert_eq!((job.workers, job.disk_mib), (4, 64 + SPARE_MIB));
    assert_eq!(job.args.last().unwrap(), "--rwmixread=70");
    let job = asked("--readwrite=randread --numjobs=3").unwrap();
    assert_eq!((job.workers, job.disk_mib), (3, 3 * 64 + SPARE_MIB));
    assert_eq!(job.args, ["--readwrite=randread", "--numjobs=3", "--size=64m"]);
    assert_eq!(asked("--rw=write --size=1024g --numjobs=128").unwrap().disk_mib, (128 << 20) + SPARE_MIB);
    assert_eq!(asked("--rw=write --size=1048577").unwrap().disk_mib, 2 + SPARE_MIB);
    let paths = Paths { figures: "/d/0.figures".as_ref(), dir: "/d/0".as_ref() };
    assert_eq!(
        Fio.command(&["--rw=read".into()], &paths).join(" "),
        "--output-format=json --eta=never --name=fio --rw=read --group_reporting=1 --time_based=1 --runtime=31536000"
    );
}

const JSON: &str = r#"
fio: terminating on signal 2
{
  "fio version" : "fio-3.33",
  "jobs" : [ { "jobname" : "fio", "error" : 0, "job options" : { "size" : "16m" },
      "read" : { "io_bytes" : 1000, "iops" : 2.5, "runtime" : 4291 },
      "write" : { "io_bytes" : 1644630016, "iops" : 93551.025163, "runtime" : 4292 },
      "trim" : { "io_bytes" : 7, "iops" : 7, "runtime" : 7 }, "usr_cpu" : 2.3 } ],
  "disk_util" : []
}
and more
"#;

#[test]
fn figures_are_read_whatever_stands_around_them() {
    let expected: Achieved =
        [("fio.bytes", 1_644_631_016.0), ("fio.iops", 93_553.525_163), ("fio.runtime_s", 4.292)].map(|(k, v)| (k.into(), v)).into();
    let said = figures(JSON);
    assert_eq!((said.achieved, said.error), (expected.clone(), None));
    assert_eq!(figures(&JSON[JSON.find('{').unwrap()..]).achieved, expected);
    let failed = figures(&JSON.replace(r#""error" : 0"#, r#""error" : 28"#));
    assert!(failed.error.unwrap().contains("No space left"));
    // A job that did nothing has no figures, and so no proof.
    let nothing = JSON.replace("1644630016", "0").replace("1000", "0");
    assert_eq!(figures(&nothing), Said::default());
    for text in ["", "{", "{}", "fio: no", "{\"jobs\":[]}", "{\"jobs\":{\"read\":1}}", "\n{\"jobs\":[1,null,[]]}"] {
        assert_eq!(figures(text), Said::default(), "{text}");
    }
}

proptest! {
    #[test]
    fn any_words_are_taken_or_refused_and_none_that_are_taken_name_a_path(
        words in proptest::collection::vec("(--)?[a-z_]{0,12}(=[a-z0-9:/.$,()%-]{0,8})?|--(rw|size|bs|numjobs|ioengine|direct|sync)=\\PC{0,8}", 0..5),
    ) {
        if let Ok(job) = own(&words) {
            prop_assert!(job.args.iter().all(|a| a.starts_with("--") && !a.contains(['/', ':', '$', '(', '%', ','])));
            prop_assert!(job.workers >= 1 && job.disk_mib > SPARE_MIB);
        }
    }

    #[test]
    fn damaged_figures_are_read_or_passed_over(cut in 0usize..500, at in 0usize..500, with: u8, number in "-?[0-9]{1,400}(e[0-9]{1,4})?") {
        let mut bytes = JSON.as_bytes()[..cut.min(JSON.len())].to_vec();
        if !bytes.is_empty() {
            let at = at % bytes.len();
            bytes[at] ^= with;
        }
        for text in [String::from_utf8_lossy(&bytes).into_owned(), JSON.replace("1644630016", &number)] {
            prop_assert!(figures(&text).achieved.values().all(|f| f.is_finite() && *f >= 0.0));
        }
    }
}
