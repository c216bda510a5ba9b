//! Tests of rounds, sections and bars.

use super::*;

#[test]
fn ratios_are_taken_round_by_round() {
    let mut section = Section::new("t", Unit::Time("item"), &["a", "b", "c"]);
    let times = [[1, 10, 100], [2, 30, 200], [10, 100, 1000]];
    section
        .interleave(3, &mut |contestant, round| {
            Ok(Round::mean(Duration::from_nanos(times[contestant][round]), 1.0))
        })
        .unwrap();
    assert_eq!(section.ratio(1, 0), 2.0);
    section.is_contest = true;
    section.demand_median_peer();
    assert!(section.bars[0].holds());
    assert_eq!(section.bars[0].found, (0.5 + 0.1) / 2.0);
    section.rows[2].is_beside = true;
    section.demand_median_peer();
    assert_eq!(section.bars[1].found, 0.5);
}

#[test]
fn who_is_out_of_the_question_runs_once_or_twice() {
    let names = ["a", "very slow", "slow", "slow once", "long", "short"];
    let mut section = Section::new("t", Unit::Time("item"), &names);
    section.is_contest = true;
    section
        .interleave(3, &mut |contestant, round| {
            let (pause, times) = match contestant {
                1 => (1100, 11.0),
                2 => (300, 11.0),
                3 if round == 0 => (300, 11.0),
                4 => (300, 9.0),
                5 => (0, 99.0),
                _ => (0, 1.0),
            };
            std::thread::sleep(Duration::from_millis(pause));
            Ok(Round::value(times))
        })
        .unwrap();
    let rounds: Vec<usize> = section.rows.iter().map(|row| row.rounds.len()).collect();
    assert_eq!(rounds, [3, 1, 2, 3, 3, 3]);
    assert_eq!(section.ratio(1, 0), 11.0);
}

#[test]
fn percentiles_are_of_sorted_items() {
    let times: Vec<Duration> = (0..=100).rev().map(Duration::from_nanos).collect();
    let round = Round::of(&times);
    assert_eq!((round.middle, round.p99), (50.0, Some(99.0)));
    let uneven = [1, 1, 1, 97].map(Duration::from_nanos);
    assert_eq!(Round::of(&uneven).middle, 1.0);
    assert_eq!(Round::of_uneven(&uneven).middle, 25.0);
}

#[test]
fn a_round_is_read_back() {
    let round = Round { middle: 1.5, p99: None, cpu: Some(2.0), peak: None };
    let found = Round::parse(&round.line()).unwrap();
    assert_eq!(Round { peak: None, ..found }, round);
    assert_eq!(found.peak.is_some(), cfg!(target_os = "linux"));
}

#[test]
fn a_bar_says_by_how_much_it_is_missed() {
    let bar = |found, goal| Bar { text: String::new(), found, limit: 1.0, goal };
    assert_eq!(bar(1.5, None).verdict(), "**does not hold**, 1.50 x too much");
    assert_eq!(bar(0.5, Some(0.25)).verdict(), "holds; 2.00 x short of the goal");
    assert_eq!(bar(0.2, Some(0.25)).verdict(), "holds, and so does the goal");
}
