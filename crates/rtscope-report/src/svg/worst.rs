//! The worst samples over time: shows whether the tail comes in bursts, periodically or once.

use super::draw::{Canvas, Key, Range, linear_ticks, series_class};
use super::latency::{subtitle, title};
use super::style::Use;
use crate::format::us;
use crate::words::samples;
use rtscope_record::{Nanos, Record};

/// The scatter of one record's worst samples.
pub fn worst(record: &Record, usage: Use) -> String {
    let all = || record.distributions().iter().enumerate().flat_map(|(i, d)| d.worst().iter().map(move |w| (i, d, w)));
    let end = all().map(|(_, _, w)| w.at).max().unwrap_or(0).max(record.parts().elapsed_ns).max(1);
    let top = all().map(|(_, _, w)| w.value).max().unwrap_or(0).max(1);
    let keys: Vec<Key> = record
        .distributions()
        .iter()
        .enumerate()
        .map(|(i, d)| Key { class: series_class(i), text: format!("{}, worst {}", d.label(), d.worst().len()) })
        .collect();
    let x = Range { low: 0.0, high: end as f64, log: false };
    let y = Range { low: 0.0, high: top as f64 * 1.08, log: false };
    let mut c = Canvas::open(usage, &format!("{}: worst samples over time", title(record)), &subtitle(record), &keys, x, y);
    c.axes(
        &linear_ticks(x.high, 1e9, 10.0),
        "Time since start (s)",
        &linear_ticks(y.high, 1e3, 7.0),
        &format!("{} (µs)", samples(record.parts().test)),
    );
    for (i, d, w) in all() {
        let tooltip = format!("{}: {} µs at {:.6} s", d.label(), us(w.value as f64), Nanos(w.at).as_secs_f64());
        c.dot(i, w.at as f64, w.value as f64, &tooltip);
    }
    if all().next().is_none() {
        c.nothing("no worst samples were kept");
    }
    c.close()
}
