//! The steps that are operations, done by the program and by the model.

use sapwood::object::Fact;
use sapwood::ops::{
    self, AttachOptions, Attached, BranchOptions, CreateOptions, Direction, ForkOptions, Keep,
    LabelOptions, MemoryCommitOptions, MemoryMergeOptions, MergeOptions, SummaryKind,
    SwitchOptions,
};
use sapwood::session::Settings;

use super::desk::{Desk, agree, facts};
use super::picks::{Picker, Step, Verb};
use super::places::{Begin, Goal, Manner};
use super::undo::Way;
use super::world::{Rev, Where};

const MODELS: [&str; 2] = ["haiku", "opus"];
const LEVELS: [&str; 2] = ["high", "low"];

/// Sessions, branches and names.
impl Desk {
    pub(super) fn begin(&mut self, picker: &mut Picker<'_>, step: &Step) -> String {
        let (at, actor) = (picker.session(), picker.actor());
        let use_it = picker.pick(4) > 0;
        let operation = self.operation(actor, step);
        let target = self.target(&at);
        if step.verb == Verb::Fork {
            let (rev, force) = (picker.some_rev(&at), picker.rarely(3));
            let what = format!("{actor}: fork {at:?} {rev:?} use {use_it} force {force}");
            let at_text = self.text_of(rev.as_ref());
            let options = ForkOptions { target, at: at_text, use_it, force, ..Default::default() };
            let outcome = ops::fork(&self.repo, &options, &operation);
            let sid = outcome.as_ref().map(|made| made.session.clone()).unwrap_or_default();
            let model = self
                .world
                .operate(actor, |world| world.fork(&at, rev.as_ref(), use_it, force, &sid));
            agree(&outcome, &model, &what);
            return what;
        }
        let begin = match picker.pick(4) {
            0 => Begin::At(picker.rev(&at)),
            1 => Begin::Handoff(self.words()),
            _ => Begin::Empty,
        };
        let model = picker.rarely(3).then(|| MODELS[picker.pick(2)].to_owned());
        let what = format!("{actor}: new {at:?} {begin:?} {model:?} use {use_it}");
        let options = CreateOptions {
            target,
            model: model.clone(),
            begin: match &begin {
                Begin::Empty => ops::Begin::Empty,
                Begin::At(rev) => ops::Begin::At(self.text(rev)),
                Begin::Handoff(text) => ops::Begin::Handoff(text.clone()),
            },
            use_it,
            ..Default::default()
        };
        let outcome = ops::create(&self.repo, &options, &operation);
        let sid = outcome.as_ref().map(|made| made.session.clone()).unwrap_or_default();
        let made =
            self.world.operate(actor, |world| world.create(&at, &begin, model, use_it, &sid));
        agree(&outcome, &made, &what);
        what
    }

    pub(super) fn manage(&mut self, picker: &mut Picker<'_>, step: &Step) -> String {
        let (sid, actor) = (picker.sid(), picker.actor());
        let operation = self.operation(actor, step);
        let what = format!("{actor}: {:?} {sid}", step.verb);
        let repo = &self.repo;
        match step.verb {
            Verb::UseSession => {
                let outcome = ops::use_session(repo, &sid, &operation);
                agree(&outcome, &self.world.operate(actor, |world| world.use_session(&sid)), &what);
            }
            Verb::RenameSession => {
                let name = [Some("first name"), Some("second name"), None][picker.pick(3)];
                let outcome = ops::rename_session(repo, &sid, name, &operation);
                let model = self.world.operate(actor, |world| world.rename_session(&sid, name));
                agree(&outcome, &model, &what);
            }
            Verb::RemoveSession => {
                let outcome = ops::remove_session(repo, &sid, &operation);
                let model = self.world.operate(actor, |world| world.remove_session(&sid));
                agree(&outcome, &model, &what);
            }
            _ => {
                let removed = &self.world.removed;
                let pick = picker.pick(removed.len() + 1);
                let found = removed.get(pick).map(|(number, gone)| (*number, gone.sid.clone()));
                let (number, sid) = found.unwrap_or((1, sid));
                let name = format!("{sid}/{number}");
                let outcome = ops::restore_session(repo, &name, &operation);
                let model = self.world.operate(actor, |world| world.restore_session(&sid, number));
                agree(&outcome, &model, &what);
                return format!("{actor}: restore {name}");
            }
        }
        what
    }

    pub(super) fn name(&mut self, picker: &mut Picker<'_>, step: &Step) -> String {
        let (at, actor) = (picker.session(), picker.actor());
        let operation = self.operation(actor, step);
        let target = self.target(&at);
        match step.verb {
            Verb::Branch => {
                let (name, rev) = (picker.branch_name(), picker.some_rev(&at));
                let what = format!("{actor}: branch {at:?} {name} {rev:?}");
                let at_text = self.text_of(rev.as_ref());
                let options =
                    BranchOptions { target, name: name.clone(), at: at_text, ..Default::default() };
                let outcome = ops::branch(&self.repo, &options, &operation);
                let model =
                    self.world.operate(actor, |world| world.branch(&at, &name, rev.as_ref()));
                agree(&outcome, &model, &what);
                what
            }
            Verb::DeleteBranch => {
                let name = picker.branch(&at);
                let what = format!("{actor}: branch -d {at:?} {name}");
                let outcome = ops::delete_branch(&self.repo, &target, &name, &operation);
                let model = self.world.operate(actor, |world| world.delete_branch(&at, &name));
                agree(&outcome, &model, &what);
                what
            }
            Verb::RenameBranch => {
                let from = (picker.pick(3) > 0).then(|| picker.branch(&at));
                let (from, to) = (from.as_deref(), picker.branch_name());
                let what = format!("{actor}: branch -m {at:?} {from:?} {to}");
                let outcome = ops::rename_branch(&self.repo, &target, from, &to, &operation);
                let model = self.world.operate(actor, |world| world.rename_branch(&at, from, &to));
                agree(&outcome, &model, &what);
                what
            }
            Verb::Label => {
                let (name, is_put) = (picker.label_name(), picker.pick(4) > 0);
                let rev = is_put.then(|| picker.rev(&at));
                let what = format!("{actor}: label {at:?} {name} {rev:?}");
                let at_text = self.text_of(rev.as_ref());
                let options = LabelOptions { target, name: name.clone(), at: at_text };
                let outcome = ops::label(&self.repo, &options, &operation);
                let model =
                    self.world.operate(actor, |world| world.label(&at, &name, rev.as_ref()));
                agree(&outcome, &model, &what);
                what
            }
            _ => {
                let name = ["a.png", "b.png"][picker.pick(2)].to_owned();
                let content = [Some("face"), Some("other face"), None][picker.pick(3)];
                let what = format!("{actor}: attach {at:?} {name} {content:?}");
                let bytes = content.map(|content| Attached::Bytes(content.as_bytes().to_vec()));
                let bytes = bytes.unwrap_or(Attached::Nothing);
                let options =
                    AttachOptions { target, name: name.clone(), content: bytes, card: None };
                let outcome = ops::attach(&self.repo, &options, &operation);
                let model = self.world.operate(actor, |world| world.attach(&at, &name, content));
                agree(&outcome, &model, &what);
                what
            }
        }
    }

    pub(super) fn switch(&mut self, picker: &mut Picker<'_>, step: &Step) -> String {
        let (at, actor) = (picker.session(), picker.actor());
        let goal = match picker.pick(16) {
            0..=6 => Goal::Revision(Rev::Name(picker.branch(&at))),
            7..=9 => Goal::Revision(picker.rev(&at)),
            10 | 11 => Goal::New(picker.branch_name(), picker.some_rev(&at)),
            12 | 13 => Goal::Previous,
            _ => Goal::Root,
        };
        let force = picker.rarely(3);
        let learned = if picker.rarely(3) { picker.facts(&self.words()) } else { Vec::new() };
        let what = format!("{actor}: switch {at:?} {goal:?} {learned:?} force {force}");
        let target = self.target(&at);
        let to = match &goal {
            Goal::Revision(rev) => ops::Goal::Revision(self.text(rev)),
            Goal::Previous => ops::Goal::Previous,
            Goal::Root => ops::Goal::Root,
            Goal::New(name, rev) => {
                let rev = self.text_of(rev.as_ref());
                ops::Goal::New(Box::new(BranchOptions {
                    target: target.clone(),
                    name: name.clone(),
                    at: rev,
                    ..Default::default()
                }))
            }
        };
        let options =
            SwitchOptions { facts: facts(&learned), force, ..SwitchOptions::to(target, to) };
        let outcome = ops::switch(&self.repo, &options, &self.operation(actor, step));
        let model = self.world.operate(actor, |world| world.switch(&at, &goal, &learned, force));
        agree(&outcome, &model, &what);
        what
    }
}

/// What was said.
impl Desk {
    pub(super) fn vary(&mut self, picker: &mut Picker<'_>, step: &Step) -> String {
        let (at, actor, force) = (picker.place(), picker.actor(), picker.rarely(3));
        let rev = picker.rev(&at);
        let (text, target) = (self.text(&rev), self.target(&at));
        let words = self.words();
        let snapshot = self.repo.snapshot().unwrap();
        let model = (picker.pick(3) > 0).then(|| MODELS[picker.pick(2)]);
        let thinking = (picker.pick(3) == 0).then(|| LEVELS[picker.pick(2)]);
        let (program, planned) = match step.verb {
            Verb::Edit => {
                let program = ops::edit(&*snapshot, &target, &text, &words, force);
                (program, self.world.edit(&at, &rev, &words, force))
            }
            Verb::Retry => {
                let program = ops::retry(&*snapshot, &target, &text, force);
                (program, self.world.retry(&at, &rev, force))
            }
            _ => {
                let (model_text, level) = (model.map(str::to_owned), thinking.map(str::to_owned));
                let new = Settings { model: model_text, thinking: level, ..Settings::default() };
                let program = ops::reconfigure(&*snapshot, &target, &new, force);
                (program, self.world.reconfigure(&at, model, thinking, force))
            }
        };
        let what = format!("{actor}: {:?} {at:?} {rev:?} {model:?} {thinking:?}", step.verb);
        agree(&program, &planned, &what);
        let (Ok(program), Ok(planned)) = (program, planned) else {
            return what;
        };
        let name = picker.rarely(4).then(|| picker.branch_name());
        let (stay, fork) = (picker.pick(2) == 0, picker.rarely(5));
        let what = format!("{what} name {name:?} stay {stay} fork {fork}");
        let way = ops::Way { fork, name: name.clone(), stay };
        let outcome = ops::vary(&self.repo, &program, &way, &self.operation(actor, step));
        let sid = outcome.as_ref().map(|made| made.session.clone()).unwrap_or_default();
        let manner = Manner { name, stay, fork: fork.then_some(sid) };
        let model = self.world.operate(actor, |world| world.vary(&planned, &manner));
        agree(&outcome, &model, &what);
        what
    }

    pub(super) fn shorten(&mut self, picker: &mut Picker<'_>, step: &Step) -> String {
        let (at, actor) = (picker.place(), picker.actor());
        let (target, operation) = (self.target(&at), self.operation(actor, step));
        let (rev, force, words) = (picker.some_rev(&at), picker.rarely(3), self.words());
        let text = self.text_of(rev.as_ref());
        let what = format!("{actor}: {:?} {at:?} {rev:?} force {force}", step.verb);
        let snapshot = self.repo.snapshot().unwrap();
        let world = &mut self.world;
        match step.verb {
            Verb::Pop => {
                let summary = (picker.pick(2) == 0).then_some((words.as_str(), force));
                let kind = if force { SummaryKind::Stack } else { SummaryKind::Branch };
                let outcome = ops::plan_pop(&*snapshot, &target, text.as_deref(), force);
                let outcome = outcome.and_then(|plan| {
                    ops::pop(&self.repo, &plan, summary.map(|(text, _)| text), kind, &operation)
                });
                let model =
                    world.operate(actor, |world| world.pop(&at, rev.as_ref(), summary, force));
                agree(&outcome, &model, &what);
            }
            Verb::Compact => {
                let count = picker.pick(5);
                let keep = text.map_or(Keep::Last(count), Keep::From);
                let outcome = ops::plan_compact(&*snapshot, &target, &keep)
                    .and_then(|plan| ops::compact(&self.repo, &plan, &words, &operation));
                let keep = rev.as_ref().map_or(Ok(count), Err);
                let model = world.operate(actor, |world| world.compact(&at, keep, &words));
                agree(&outcome, &model, &what);
            }
            _ => {
                let outcome = ops::uncompact(&self.repo, &target, &operation);
                agree(&outcome, &world.operate(actor, |world| world.uncompact(&at)), &what);
            }
        }
        what
    }

    pub(super) fn rearrange(&mut self, picker: &mut Picker<'_>, step: &Step) -> String {
        let (at, actor) = (picker.place(), picker.actor());
        let elsewhere = if picker.rarely(8) { picker.session() } else { at.clone() };
        let rev = picker.rev(&elsewhere);
        let (target, operation) = (self.target(&at), self.operation(actor, step));
        let what = format!("{actor}: {:?} {at:?} {rev:?}", step.verb);
        let (text, words) = (self.text(&rev), self.words());
        let (repo, world) = (&self.repo, &mut self.world);
        match step.verb {
            Verb::Merge => {
                let summary = Some(words.clone());
                let options = MergeOptions { target, other: text, summary, seen: None };
                let outcome = ops::merge(repo, &options, &operation);
                let model = world.operate(actor, |world| world.merge(&at, &rev, &words));
                agree(&outcome, &model, &what);
            }
            Verb::Rebase => {
                let outcome = ops::rebase(repo, &target, &text, &operation);
                let model = world.operate(actor, |world| world.rebase(&at, &rev));
                agree(&outcome, &model, &what);
            }
            Verb::CherryPick => {
                let mut revs = vec![rev];
                revs.extend(picker.some_rev(&at));
                let texts: Vec<String> = revs.iter().map(|rev| self.text(rev)).collect();
                let outcome = ops::cherry_pick(&self.repo, &target, &texts, &operation);
                let model = self.world.operate(actor, |world| world.cherry_pick(&at, &revs));
                agree(&outcome, &model, &format!("{what} {revs:?}"));
            }
            _ => {
                let force = picker.rarely(3);
                let outcome = ops::reset(repo, &target, &text, force, &operation);
                let model = world.operate(actor, |world| world.reset(&at, &rev, force));
                agree(&outcome, &model, &what);
            }
        }
        what
    }

    pub(super) fn learn(&mut self, picker: &mut Picker<'_>, step: &Step) -> String {
        let (at, actor, rev) = (picker.place(), picker.actor(), picker.some_rev(&Where::default()));
        let (target, operation) = (self.target(&at), self.operation(actor, step));
        let text = self.text_of(rev.as_ref());
        let what = format!("{actor}: {:?} {at:?} {rev:?}", step.verb);
        if step.verb == Verb::MemoryMerge {
            let rev = rev.unwrap_or_else(|| picker.rev(&at));
            let options = MemoryMergeOptions { target, from: self.text(&rev) };
            let outcome = ops::memory_merge(&self.repo, &options, &operation);
            let model = self.world.operate(actor, |world| world.memory_merge(&at, &rev));
            agree(&outcome, &model, &format!("{what} {rev:?}"));
            return what;
        }
        let learned = if picker.rarely(16) { Vec::new() } else { picker.facts(&self.words()) };
        let known: Vec<Fact> = facts(&learned);
        let options =
            MemoryCommitOptions { target, facts: known, source: text, ..Default::default() };
        let outcome = ops::memory_commit(&self.repo, &options, &operation);
        let source = rev.as_ref();
        let model = self.world.operate(actor, |world| world.memory_commit(&at, &learned, source));
        agree(&outcome, &model, &what);
        format!("{what} {learned:?}")
    }

    pub(super) fn reverse(&mut self, picker: &mut Picker<'_>, step: &Step) -> String {
        let (mut at, actor) = (picker.session(), picker.actor());
        if let Some((_, gone)) = self.world.removed.last().filter(|_| picker.rarely(6)) {
            at.session = Some(gone.sid.clone());
        }
        let (direction, way) = match step.verb {
            Verb::Undo => (Direction::Undo, Way::Undo),
            _ => (Direction::Redo, Way::Redo),
        };
        let what = format!("{actor}: {way:?} {at:?}");
        let (target, operation) = (self.target(&at), self.operation(actor, step));
        let outcome = ops::undo(&self.repo, &target, actor, direction, &operation);
        agree(&outcome, &self.world.reverse(&at, actor, way), &what);
        what
    }
}
