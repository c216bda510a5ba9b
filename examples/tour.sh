#!/bin/sh
# A tour of sapwood: what people and agents do with it, and what it prints. It works in a directory
# of its own, which is gone afterwards.
#
#     cargo build --release
#     SAPWOOD=target/release/sapwood examples/tour.sh
#
# The README shows these commands with their output; a test compares the two.

set -eu
program=$(command -v "${SAPWOOD:-sapwood}")
case $program in /*) ;; *) program=$PWD/$program ;; esac
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
unset SAPWOOD_DIR SAPWOOD_SESSION
export HOME="$directory" XDG_CONFIG_HOME="$directory" SAPWOOD_ACTOR=ada
sapwood() { "$program" "$@"; }

# Each line of the tour is shown and run; a line with a '#' begins a chapter.
while IFS= read -r line; do
    case $line in
    '#'*) printf '\n%s\n' "$line" ;;
    *)
        printf '$ %s\n' "$line"
        eval "$line" 2>&1 </dev/null
        ;;
    esac
done <<'TOUR'
# A conversation: a store, a session in it, and what is said. Ids are printed once it is on disk.
sapwood init
sapwood new --name lookups --provider anthropic --model sonnet
sapwood append -m 'How do I make lookups fast?'
sapwood append -r assistant -m 'I see two ways.' --model sonnet --cost 0.01 --tokens 150
sapwood memory commit --fact language=Rust --note 'wants no dependencies'
sapwood label choice
# Branches: try one way, let somebody else try another without moving HEAD, and compare.
sapwood switch -c memoize
sapwood append -r assistant -m 'Plan A: memoize the function' --cost 0.05
sapwood append -b map --parent choice -r assistant -m 'Plan B: use a map' --cost 0.03
sapwood tree
sapwood diff memoize map
sapwood compare memoize map
# Going back: what was learned is committed on the branch left, and each branch has its own memory.
sapwood switch choice --fact speed=2x --note 'it grows without bound'
sapwood switch map
sapwood memory commit --fact speed=5x
sapwood memory resolve memoize
sapwood memory resolve
# Something changed: another question, another answer, another model. Each is a branch.
sapwood edit msg:1 -m 'How do I make inserts fast?'
sapwood ask -m 'In one word?' --with 'echo Batches.'
sapwood retry --with 'echo Batch.'
sapwood reconfigure --model haiku
sapwood edit msg:1 --siblings
sapwood branch
# Bringing together: a merge, the other branch's memory, a copy of one entry. All can be undone.
sapwood switch map
sapwood merge memoize --summary 'Memoizing is slower than a map.'
sapwood memory merge memoize
sapwood cherry-pick retry
sapwood undo
sapwood redo
sapwood log --graph --all --oneline
# What a model sees: a dead end popped, the older part summed up, the memory first.
sapwood ask -m 'Shall we write our own hash?' --with 'echo No.'
sapwood pop --summary 'Our own hash was dropped.'
sapwood compact --keep 2 --summary 'A map makes lookups fast.'
sapwood context --memory
# Other sessions: a fork shares every object, a handoff begins anew with what matters.
sapwood fork choice --name 'lookups in Go' --reason 'another language' --no-use
sapwood handoff 'ship the map' | sapwood new --name ship --from - --no-use
sapwood sessions --tree
# Looking back: everything that happened, on all branches, in order. Nothing was lost.
sapwood grep -i memoiz
sapwood transcript
sapwood stats
sapwood fsck
TOUR
