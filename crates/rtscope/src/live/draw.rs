//! Draws the picture: title, time, a table and a histogram of each thread, the worst samples, the keys. It fits 80x24.

use super::bins::{Axis, heights};
use super::view::{Figures, View};
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{LineGauge, Paragraph, Row, Sparkline, Table, Wrap};
use rtscope_record::Nanos;

const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BARS: Style = Style::new().fg(Color::Cyan);
const KEYS: &str = "p pause  s scale  up/down threads  q end the run and keep it";
/// Columns for the labels left of the histograms.
const LABEL: u16 = 10;
/// Most rows of the table, and of lines of a histogram.
const ROWS: u16 = 6;
/// Lines for the worst samples.
const WORST: u16 = 2;

pub(super) fn draw(frame: &mut Frame<'_>, view: &View) {
    let figures = view.figures();
    let all = u16::try_from(figures.threads.len()).unwrap_or(u16::MAX);
    let worst = if figures.threads.iter().any(|t| !t.worst.is_empty()) { WORST } else { 0 };
    let [title, time, table, chart, worst_at, status, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(1 + all.min(ROWS)),
        Constraint::Min(0),
        Constraint::Length(worst),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    draw_title(frame, title, view, figures);
    draw_time(frame, time, view, figures);
    draw_table(frame, table, figures, view.top);
    draw_charts(frame, chart, figures, view);
    frame.render_widget(Paragraph::new(worst_line(figures)).wrap(Wrap { trim: true }), worst_at);
    frame.render_widget(Line::styled(view.status(), DIM), status);
    frame.render_widget(Line::styled(KEYS, DIM), keys);
}

fn draw_title(frame: &mut Frame<'_>, area: Rect, view: &View, figures: &Figures) {
    let passed = clock(figures.elapsed_ns);
    let time = match (view.is_paused(), view.end_ns.checked_sub(figures.elapsed_ns)) {
        (true, _) => format!("paused at {passed}, the run goes on"),
        (false, Some(left)) if view.end_ns > 0 => format!("{passed}, {} left", clock(left)),
        _ => passed,
    };
    let width = u16::try_from(time.chars().count()).unwrap_or(0) + 1;
    let [left, right] = Layout::horizontal([Constraint::Min(0), Constraint::Length(width)]).areas(area);
    frame.render_widget(Line::styled(view.title.as_str(), BOLD), left);
    frame.render_widget(Paragraph::new(time).alignment(Alignment::Right), right);
}

fn draw_time(frame: &mut Frame<'_>, area: Rect, view: &View, figures: &Figures) {
    let ratio = if view.end_ns == 0 { 0.0 } else { (figures.elapsed_ns as f64 / view.end_ns as f64).min(1.0) };
    let samples: u64 = figures.threads.iter().map(|t| t.count).sum();
    frame.render_widget(LineGauge::default().ratio(ratio).label(format!("{samples} samples")).filled_style(BARS), area);
}

/// The columns after the thread's name: their headings, and which goes first where not all fit.
const COLUMNS: [(&str, u8); 7] =
    [("max us", 0), ("max's age", 3), ("mean us", 4), ("last us", 6), ("min us", 5), ("missed", 1), ("samples", 2)];
/// The narrowest column, so that the table stands still while numbers grow.
const NARROWEST: usize = 9;

fn draw_table(frame: &mut Frame<'_>, area: Rect, figures: &Figures, top: usize) {
    let highest = figures.threads.iter().map(|t| t.max).max();
    let cells: Vec<[String; COLUMNS.len()]> = figures
        .threads
        .iter()
        .zip(&figures.max_at)
        .map(|(t, &at)| {
            let mean = t.sum.checked_div(t.count).unwrap_or(0);
            [
                micros(t.max),
                clock(figures.elapsed_ns.saturating_sub(at)),
                micros(mean),
                micros(t.last),
                micros(t.min),
                t.missed.to_string(),
                t.count.to_string(),
            ]
        })
        .collect();
    let widths = std::array::from_fn(|i| {
        let widest = cells.iter().map(|row| row[i].len()).max().unwrap_or(0);
        widest.max(COLUMNS[i].0.len()).max(NARROWEST)
    });
    let shown = fitting(widths, usize::from(area.width.saturating_sub(LABEL)));
    let row = |first: &str, cells: &[String; COLUMNS.len()]| {
        let numbers = shown.iter().map(|&i| Text::raw(cells[i].clone()).right_aligned());
        Row::new(std::iter::once(Text::raw(first.to_owned())).chain(numbers).collect::<Vec<_>>())
    };
    let rows = figures.threads.iter().zip(&cells).skip(top).map(|(t, cells)| {
        row(&t.label, cells).style(if Some(t.max) == highest && t.count > 0 { BOLD.fg(Color::Red) } else { Style::new() })
    });
    // What is left over goes between the columns: the last ends where the line does.
    let over = usize::from(area.width.saturating_sub(LABEL)).saturating_sub(shown.iter().map(|&i| widths[i] + 1).sum());
    let each = over.checked_div(shown.len()).unwrap_or(0);
    let columns = shown.iter().map(|&i| Constraint::Length(u16::try_from(widths[i] + each).unwrap_or(u16::MAX)));
    let columns = std::iter::once(Constraint::Length(LABEL)).chain(columns);
    let header = row("thread", &COLUMNS.map(|c| c.0.to_owned())).style(DIM);
    frame.render_widget(Table::new(rows, columns).header(header).column_spacing(1), area);
}

/// The columns that fit into this width, whole: a number whose first digits are cut off would be another number.
fn fitting(widths: [usize; COLUMNS.len()], room: usize) -> Vec<usize> {
    let mut shown: Vec<usize> = (0..COLUMNS.len()).collect();
    while shown.iter().map(|&i| widths[i] + 1).sum::<usize>() > room {
        let Some(least) = shown.iter().copied().max_by_key(|&i| COLUMNS[i].1) else { break };
        shown.retain(|&i| i != least);
    }
    shown
}

fn draw_charts(frame: &mut Frame<'_>, area: Rect, figures: &Figures, view: &View) {
    let Some(axis) = Axis::of(&figures.threads, area.width.saturating_sub(LABEL)) else { return };
    if area.height < 2 {
        return;
    }
    let shown = figures.threads.len().saturating_sub(view.top).max(1);
    let lines = area.height - 1;
    let each = (lines / u16::try_from(shown).unwrap_or(u16::MAX).min(lines)).clamp(1, ROWS);
    let mut at = area.y;
    for thread in figures.threads.iter().skip(view.top) {
        if at + each >= area.bottom() {
            break;
        }
        let row = Rect { y: at, height: each, ..area };
        let [label, bars] = Layout::horizontal([Constraint::Length(LABEL), Constraint::Min(0)]).areas(row);
        frame.render_widget(Line::raw(thread.label.as_str()), Rect { y: row.bottom() - 1, height: 1, ..label });
        let most = u64::from(each) * 8;
        let heights = heights(&axis.counts(&thread.histogram), view.linear, most);
        frame.render_widget(Sparkline::default().data(&heights).max(most).style(BARS), bars);
        at += each;
    }
    let scale = if view.linear { "linear" } else { "log" };
    let marks = format!("{scale:<width$}{}", marks(axis), width = usize::from(LABEL));
    frame.render_widget(Line::styled(marks, DIM), Rect { y: at, height: 1, ..area });
}

/// The axis' values, each where its column begins.
fn marks(axis: Axis) -> String {
    let mut text = String::new();
    for column in 0..axis.columns() {
        let at = usize::try_from(column).unwrap_or(usize::MAX);
        let mark = short(axis.value(column));
        let fits = at + mark.len() <= usize::try_from(axis.columns()).unwrap_or(0);
        if fits && (at == 0 || (at > text.len() && at % 12 == 0)) {
            text = format!("{text:<at$}{mark}");
        }
    }
    text
}

fn worst_line(figures: &Figures) -> Line<'_> {
    let mut spans = vec![Span::styled("worst us  ", DIM)];
    for (value, at, label) in figures.worst().into_iter().take(8) {
        spans.push(Span::raw(format!("{} ", micros(value))));
        spans.push(Span::styled(format!("{label} {}  ", clock(at)), DIM));
    }
    Line::from(spans)
}

fn micros(ns: u64) -> String {
    format!("{:.1}", Nanos(ns).as_micros_f64())
}

/// `960ns`, `12.5us`, `1.3ms`.
fn short(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns}ns"),
        1_000..1_000_000 => format!("{:.1}us", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1}ms", ns as f64 / 1e6),
        _ => format!("{:.1}s", ns as f64 / 1e9),
    }
}

/// `04:07`, `1:04:07`.
fn clock(ns: u64) -> String {
    let s = ns / 1_000_000_000;
    let (hours, minutes, seconds) = (s / 3600, s / 60 % 60, s % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes:02}:{seconds:02}") }
}

#[cfg(test)]
mod tests {
    use super::super::keys::Wish;
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use rtscope_probe::protocol::{Event, Live};
    use rtscope_run::session::SessionStep;

    fn thread(cpu: u64) -> Live {
        let max = 61_440 + cpu;
        Live {
            label: format!("cpu{cpu}"),
            count: 4_000,
            missed: cpu,
            min: 3_584,
            last: 4_100,
            sum: 4_000 * 5_000,
            max,
            histogram: vec![(3_584, 900), (4_096, 2_500), (5_120, 590), (14_336, 9), (61_440, 1)],
            worst: vec![(max, 2_500_000_000), (15_000, 700_000_000)],
            ..Live::default()
        }
    }

    fn picture(threads: u64, (width, height): (u16, u16), keys: &[Wish]) -> String {
        let mut view = View::new("timer  local  load network  interval 1 ms  fifo 95", 60_000_000_000);
        view.step(&SessionStep::Event(&Event::Started));
        let threads = (0..threads).map(thread).collect();
        view.step(&SessionStep::Event(&Event::Progress { elapsed_ns: 4_200_000_000, threads }));
        for key in keys {
            view.key(*key, || ());
        }
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, &view)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn it_fits_80_by_24() {
        insta::assert_snapshot!("live_two_cpus", picture(2, (80, 24), &[]));
        insta::assert_snapshot!("live_many_cpus", picture(64, (80, 24), &[Wish::Down, Wish::Scale, Wish::Pause]));
    }

    #[test]
    fn below_80_columns_whole_columns_go_and_the_maximum_last() {
        let widest = |width| {
            let text = picture(2, (width, 24), &[]);
            text.lines().find(|l| l.contains("cpu1")).unwrap_or_default().to_owned()
        };
        for width in [40, 50, 60, 72] {
            let row = widest(width);
            assert!(row.contains(" 61.4 ") || row.contains(" 61.4\""), "{width}: {row}");
        }
        let of = |room| fitting([8, 9, 8, 8, 8, 8, 10], room).into_iter().map(|i| COLUMNS[i].0).collect::<Vec<_>>();
        assert_eq!(of(66), COLUMNS.map(|c| c.0));
        assert_eq!(of(65), ["max us", "max's age", "mean us", "min us", "missed", "samples"]);
        assert_eq!(of(30), ["max us", "missed", "samples"]);
        assert_eq!(of(9), ["max us"]);
        assert!(of(8).is_empty());
    }

    #[test]
    fn no_size_is_too_small() {
        for size in [(1, 1), (10, 3), (30, 8), (300, 100)] {
            for threads in [0, 1, 5] {
                let _ = picture(threads, size, &[]);
            }
        }
    }

    #[test]
    fn without_a_histogram_there_are_figures() {
        let mut view = View::new("response", 0);
        let threads = vec![Live { label: "rising".into(), max: 12_300, count: 4, ..Live::default() }];
        view.step(&SessionStep::Event(&Event::Progress { elapsed_ns: 1_000_000_000, threads }));
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| draw(frame, &view)).unwrap();
        let text = terminal.backend().to_string();
        assert!(text.contains("rising") && text.contains("12.3") && !text.contains("worst us"), "{text}");
    }
}
