"""Makes the demonstration corpus: `train`, `valid` and `test`, each `.zh` and `.en`, one sentence a line.

The same bytes each time. Every frame gives about as many sentences; a part of its pairs of words is kept out
of `train`, and the sentences with such a pair are what `test` and `valid` are filled from first.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from random import Random

from grammar import being, doing, linking
from grammar.draw import Draw
from grammar.words import Phrase

FRAMES = (*being.FRAMES, *doing.FRAMES, *linking.FRAMES)
SEED = 1
SENTENCES_PER_FRAME = 83
HELD_OUT_PER_FRAME = 6  # sentences, at most
NUM_TEST, NUM_VALID = 500, 300  # sentences
NUM_KNOWN = 5  # times each word and token of a held-out sentence is in `train`, at least
TRIES_PER_SENTENCE = 20
ALWAYS_IN_TRAIN = (
    ("be_animal", ("我", "狗"), Phrase("我是一条狗", "I am a dog")),
    ("like_doing", ("我", "打篮球"), Phrase("我喜欢打篮球", "I like playing basketball")),
)


@dataclass(frozen=True)
class Sentence:
    frame: str
    words: tuple[str, ...]  # its content words, in the order they were chosen
    pair: Phrase

    @property
    def word_pairs(self) -> list[tuple[str, str]]:
        return list(combinations(sorted(dict.fromkeys(self.words)), 2))


def make_corpus() -> dict[str, list[Phrase]]:
    """The pairs of each part, in the order written."""
    random = Random(SEED)
    sentences = [Sentence(*fields) for fields in ALWAYS_IN_TRAIN]
    known = Bijection(sentence.pair for sentence in sentences)
    for frame in FRAMES:
        sentences += draw_sentences(frame, known, random)
    train, held_out = hold_out(sentences, random)
    test, valid = held_out[:NUM_TEST], held_out[NUM_TEST : NUM_TEST + NUM_VALID]
    parts = {"train": train, "valid": valid, "test": test}
    for part in parts.values():
        random.shuffle(part)
    return {name: [sentence.pair for sentence in part] for name, part in parts.items()}


class Bijection:
    """The pairs so far; raises when one side would get a second translation."""

    def __init__(self, pairs: Iterable[Phrase]) -> None:
        self._en_of: dict[str, str] = {}
        self._zh_of: dict[str, str] = {}
        for pair in pairs:
            self.add(pair)

    def add(self, pair: Phrase) -> bool:
        """Whether `pair` is new."""
        if pair.zh not in self._en_of and pair.en not in self._zh_of:
            self._en_of[pair.zh], self._zh_of[pair.en] = pair.en, pair.zh
            return True
        if self._en_of.get(pair.zh) != pair.en:
            seen = (self._en_of.get(pair.zh), self._zh_of.get(pair.en))
            raise ValueError(f"{pair} has a second translation, {seen}; change the frame or the lexicon")
        return False


def draw_sentences(frame: Callable[[Draw], Phrase], known: Bijection, random: Random) -> list[Sentence]:
    """Up to `SENTENCES_PER_FRAME` new sentences; fewer where the frame has no more to say."""
    sentences: list[Sentence] = []
    for _ in range(SENTENCES_PER_FRAME * TRIES_PER_SENTENCE):
        draw = Draw(random)
        pair = frame(draw)
        if known.add(pair):
            sentences.append(Sentence(frame.__name__, tuple(draw.words), pair))
        if len(sentences) == SENTENCES_PER_FRAME:
            break
    return sentences


def hold_out(sentences: Sequence[Sentence], random: Random) -> tuple[list[Sentence], list[Sentence]]:
    """Split into train and held-out; the latter takes the frames by turns, so any part covers all."""
    train: list[Sentence] = []
    by_frame: list[list[Sentence]] = []
    for name in dict.fromkeys(sentence.frame for sentence in sentences):
        of_frame = [sentence for sentence in sentences if sentence.frame == name]
        kept_out = _word_pairs_to_hold_out(of_frame, random)
        held_out = [sentence for sentence in of_frame if not kept_out.isdisjoint(sentence.word_pairs)]
        train += [sentence for sentence in of_frame if kept_out.isdisjoint(sentence.word_pairs)]
        by_frame.append(held_out)
    return train, _in_turns(_all_known(by_frame, train))


def _word_pairs_to_hold_out(sentences: Sequence[Sentence], random: Random) -> set[tuple[str, str]]:
    """Pairs of words that `HELD_OUT_PER_FRAME` sentences of one frame, or nearly as many, are made with."""
    always = {pair for _, words, _ in ALWAYS_IN_TRAIN for pair in combinations(sorted(words), 2)}
    in_words = Counter(word for sentence in sentences for word in sentence.words)
    chosen: set[tuple[str, str]] = set()
    held_out: set[Sentence] = set()
    for sentence in random.sample(sentences, len(sentences)):
        fitting = [pair for pair in sentence.word_pairs if pair not in always and min(in_words[w] for w in pair) > 1]
        if not fitting:
            continue
        pair = random.choice(fitting)
        with_pair = {other for other in sentences if pair in other.word_pairs}
        if len(held_out | with_pair) <= HELD_OUT_PER_FRAME:
            held_out |= with_pair
            chosen.add(pair)
    return chosen


def _all_known(by_frame: Sequence[list[Sentence]], train: Sequence[Sentence]) -> list[list[Sentence]]:
    """Without the sentences that have a word, character or English token `train` has too rarely."""
    times = Counter(unit for sentence in train for unit in _units(sentence))
    return [[s for s in held_out if all(times[unit] >= NUM_KNOWN for unit in _units(s))] for held_out in by_frame]


def _units(sentence: Sentence) -> list[str]:
    english = sentence.pair.en.replace("?", " ?").replace(",", " ,").split()
    return [*sentence.words, *sentence.pair.zh, *english]


def _in_turns(lists: Sequence[list[Sentence]]) -> list[Sentence]:
    longest = max(len(one) for one in lists)
    return [one[i] for i in range(longest) for one in lists if i < len(one)]


def write_corpus(parts: dict[str, list[Phrase]], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, pairs in parts.items():
        for language in ("zh", "en"):
            text = "".join(f"{getattr(pair, language)}\n" for pair in pairs)
            (folder / f"{name}.{language}").write_bytes(text.encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent, help="folder to write to")
    parts = make_corpus()
    write_corpus(parts, parser.parse_args().output)
    for name, pairs in parts.items():
        print(f"{name}: {len(pairs)} pairs")


if __name__ == "__main__":
    main()
