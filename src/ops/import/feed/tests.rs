//! What waits is bounded, and what comes back is dropped.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use super::*;

/// Lines of a length, and how many bytes of them were read.
struct Lines {
    line: Vec<u8>,
    left: usize,
    read: Arc<AtomicUsize>,
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let place = self.line.len() - 1 - (self.left + self.line.len() - 1) % self.line.len();
        let count = buffer.len().min(self.left).min(self.line.len() - place);
        buffer[..count].copy_from_slice(&self.line[place..place + count]);
        self.left -= count;
        self.read.fetch_add(count, Ordering::Relaxed);
        Ok(count)
    }
}

fn order(stream: impl Read + Send + 'static) -> Order {
    Order { origin: Origin::Stream(Box::new(stream)), known: None }
}

/// Reads what is ordered in a thread, until all of `take` is taken.
fn fed(orders: Vec<Order>, take: impl FnOnce(&Receiver<Fed>, &mpsc::Sender<Spent>)) {
    let (orderer, ordered) = mpsc::channel();
    let (sink, source) = mpsc::sync_channel(STRETCHES_WAITING);
    let (spent, given_back) = mpsc::channel();
    orders.into_iter().for_each(|order| orderer.send(order).unwrap());
    thread::scope(|scope| {
        let ends = Ends { orders: ordered, sink, spent: given_back };
        scope.spawn(move || feed(&ends, None, &mut |_| {}));
        take(&source, &spent);
        // Else it would wait for another order.
        drop((orderer, source));
    });
}

#[test]
fn long_lines_wait_for_less_of_them() {
    for (line_bytes, most) in [(1 << 10, 4 << 20), (3 << 20, 12 << 20)] {
        let line = format!("{{\"a\":\"{}\"}}\n", "x".repeat(line_bytes - 9)).into_bytes();
        let read = Arc::new(AtomicUsize::new(0));
        let left = (96 << 20) / line.len() * line.len();
        let lines = Lines { line, left, read: Arc::clone(&read) };
        fed(vec![order(lines)], |source, _| {
            assert!(matches!(source.recv(), Ok(Fed::Begin { .. })));
            let mut before = 0;
            // Nobody takes any: when no more is read, all the room is taken.
            while std::mem::replace(&mut before, read.load(Ordering::Relaxed))
                != read.load(Ordering::Relaxed)
                || before == 0
            {
                thread::sleep(Duration::from_millis(200));
            }
            assert!(before <= most, "{before} bytes of lines of {line_bytes}");
            assert!(source.iter().any(|fed| matches!(fed, Fed::Values(..))), "it goes on");
        });
    }
}

#[test]
fn what_comes_back_is_dropped_also_between_documents() {
    let document = b"{\n\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]\n}\n";
    let files = 4 * STRETCHES_WAITING;
    let orders = (0..files).map(|_| order(&document[..])).collect();
    fed(orders, |source, spent| {
        let mut kept = Vec::new();
        for _ in 0..files {
            let of_file = source.iter().take_while(|fed| !matches!(fed, Fed::End(_)));
            let values = of_file.filter(|fed| matches!(fed, Fed::Values(..))).count();
            assert_eq!(values, 1);
            let mut back = Spent::default();
            let blob = NewObject::blob(b"used up".to_vec()).unwrap();
            kept.push(Arc::downgrade(&blob.content));
            back.keep(blob);
            spent.send(back).unwrap();
        }
        // All but what was given back after the last file was begun.
        let living = kept.iter().filter(|content| content.strong_count() > 0).count();
        assert!(living <= STRETCHES_WAITING, "{living} of {files}");
    });
}
