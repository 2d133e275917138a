//! Reads many records: one thread fetches their rows, others reassemble and check them, and they are passed on in order.
//! However many are requested, only a few are in memory at a time.

use super::connection::Archive;
use super::error::ArchiveError;
use super::list::{Filter, RunSummary};
use super::rows::Fetched;
use super::{list, rows};
use rtscope_record::{Record, Test};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Identifies a run within one archive, until it is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub(super) i64);

/// Records passed to another thread at once.
const CHUNK: usize = 16;
/// More threads than this would only wait for the fetching one.
const WORKERS: usize = 8;

/// Rows to be processed, and the channel for the results.
type Job<T> = (Vec<Fetched>, SyncSender<Vec<Result<T, ArchiveError>>>);

/// Why reading rows stopped.
enum Stop<E> {
    Sql(rusqlite::Error),
    Own(E),
}

impl<E> From<rusqlite::Error> for Stop<E> {
    fn from(e: rusqlite::Error) -> Self {
        Self::Sql(e)
    }
}

impl Archive {
    /// Runs `work` on one consistent state of the archive, whatever other processes write meanwhile.
    pub fn frozen<T, E: From<ArchiveError>>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let frozen = self.db.unchecked_transaction().map_err(|e| self.sql(e))?;
        let done = work()?;
        frozen.finish().map_err(|e| self.sql(e))?;
        Ok(done)
    }

    /// Gives `each` the runs that match `filter`, newest first. A run whose summary was changed independently of its
    /// record is replaced by an error.
    pub fn each_summary<E: From<ArchiveError>>(
        &self,
        filter: &Filter,
        mut each: impl FnMut(Result<RunSummary, ArchiveError>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.each_found(filter, |found| each(sound(found).map(|f| f.summary)))
    }

    /// The run's test: from its summary, or from the record where the summary was changed.
    pub fn test(&self, key: Key) -> Result<Test, ArchiveError> {
        let found = list::one(&self.db, key.0).map_err(|e| self.sql(e))?;
        match found.summary.test.parse() {
            Ok(test) if found.sound => Ok(test),
            _ => Ok(self.fetch(key)?.record()?.parts().test),
        }
    }

    fn each_found<E: From<ArchiveError>>(
        &self,
        filter: &Filter,
        mut each: impl FnMut(list::Found) -> Result<(), E>,
    ) -> Result<(), E> {
        list::each(&self.db, filter, |found| each(found).map_err(Stop::Own)).map_err(|stop| self.stopped(stop))
    }

    fn stopped<E: From<ArchiveError>>(&self, stop: Stop<E>) -> E {
        match stop {
            Stop::Sql(e) => self.sql(e).into(),
            Stop::Own(e) => e,
        }
    }

    /// The runs that match `filter`, oldest first. Fails if a run's summary was changed independently of its record.
    pub fn keys(&self, filter: &Filter) -> Result<Vec<Key>, ArchiveError> {
        Ok(self.keys_and_tests(filter)?.into_iter().map(|(key, _)| key).collect())
    }

    /// [`keys`](Self::keys), and the test of each run where this version knows it.
    pub fn keys_and_tests(&self, filter: &Filter) -> Result<Vec<(Key, Option<Test>)>, ArchiveError> {
        let mut keys = Vec::new();
        if filter.passes_all() {
            // Nothing is filtered, so the summaries need not be read.
            let each = list::each_key(&self.db, |key, test| {
                keys.push((Key(key), test.map_err(|id| Stop::Own(changed(&id)))?));
                Ok(())
            });
            return each.map(|()| keys).map_err(|stop| self.stopped(stop));
        }
        self.each_found(filter, |found| {
            let found = sound(found)?;
            keys.push((Key(found.key), found.summary.test.parse().ok()));
            Ok::<(), ArchiveError>(())
        })?;
        keys.reverse();
        Ok(keys)
    }

    /// Reads the records of `keys`, passes each to `work` on one of several threads, and the results to `each` in the
    /// order of `keys`.
    ///
    /// Stops at the first error: of the archive, of a damaged record, or of `each`.
    pub fn each_record<T: Send, E: From<ArchiveError>>(
        &self,
        keys: &[Key],
        work: impl Fn(Record) -> T + Sync,
        mut each: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        let workers = thread::available_parallelism().map_or(1, std::num::NonZero::get).min(WORKERS).min(keys.len() / CHUNK);
        if workers < 2 {
            return keys.iter().try_for_each(|&key| each(work(self.fetch(key)?.record()?)));
        }
        let (jobs, queue) = sync_channel::<Job<T>>(workers * 2);
        let queue = Mutex::new(queue);
        thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| serve(&queue, &work));
            }
            self.hand_out(keys, jobs, workers * 2, &mut each)
        })
    }

    /// Fetches rows as long as there is room for them, and takes the results in order. The workers end when `jobs` is
    /// dropped.
    #[allow(clippy::needless_pass_by_value)]
    fn hand_out<T, E: From<ArchiveError>>(
        &self,
        keys: &[Key],
        jobs: SyncSender<Job<T>>,
        room: usize,
        each: &mut impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut chunks = keys.chunks(CHUNK);
        let mut under_way: VecDeque<Receiver<Vec<Result<T, ArchiveError>>>> = VecDeque::new();
        loop {
            while under_way.len() < room {
                let Some(chunk) = chunks.next() else { break };
                let fetched = chunk.iter().map(|&key| self.fetch(key)).collect::<Result<Vec<_>, _>>()?;
                let (back, outcome) = sync_channel(1);
                // Fails only when the workers have ended.
                if jobs.send((fetched, back)).is_err() {
                    return Ok(());
                }
                under_way.push_back(outcome);
            }
            // A worker that panicked sends nothing; its panic is propagated where the threads are joined.
            let Some(done) = under_way.pop_front().and_then(|outcome| outcome.recv().ok()) else { return Ok(()) };
            for item in done {
                each(item?)?;
            }
        }
    }

    pub(super) fn fetch(&self, key: Key) -> Result<Fetched, ArchiveError> {
        rows::fetch(&self.db, key.0).map_err(|e| self.raise(e))
    }
}

fn serve<T>(queue: &Mutex<Receiver<Job<T>>>, work: &impl Fn(Record) -> T) {
    let mut text = String::new();
    loop {
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((fetched, back)) = job else { return };
        // After an error nobody receives the result.
        let _ = back.send(fetched.into_iter().map(|f| f.record_by(&mut text).map(work)).collect());
    }
}

fn sound(found: list::Found) -> Result<list::Found, ArchiveError> {
    if found.sound {
        return Ok(found);
    }
    Err(changed(&found.summary.id))
}

fn changed(id: &str) -> ArchiveError {
    let what = "its summary in the archive was changed apart from its record, which `rtscope show` reads by its id";
    ArchiveError::damaged(id, what)
}
