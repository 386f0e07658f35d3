"""The demonstration corpus: remade byte for byte, split without leaks, free of common slips of grammar."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

FOLDER = Path(__file__).parents[2] / "data" / "demo"
PARTS = ("train", "valid", "test")
SAYABLE = (  # frame, Chinese, English: written by hand
    ("be_animal", "我是一条狗", "I am a dog"),
    ("be_person", "她是一名律师", "She is a lawyer"),
    ("not_be_person", "他们不是农民", "They aren't farmers"),
    ("ask_be_person", "你是学生吗？", "Are you a student?"),
    ("be_things", "那些是羊", "Those are sheep"),
    ("not_have", "我没有雨伞", "I don't have an umbrella"),
    ("there_lies", "桌子上有三本书", "There are three books on the table"),
    ("compare_things", "我的书比你的书贵", "My book is more expensive than your book"),
    ("compare_animals", "马比兔子大", "Horses are bigger than rabbits"),
    ("like", "他喜欢茶", "He likes tea"),
    ("like_doing", "我喜欢打篮球", "I like playing basketball"),
    ("be_doing", "他们正在游泳", "They are swimming"),
    ("did", "我们昨天跑步了", "We ran yesterday"),
    ("did_not", "她昨天没有学习", "She didn't study yesterday"),
    ("consumed", "我昨天喝了两杯茶", "I drank two cups of tea yesterday"),
    ("will_do", "他明天会看电视", "He will watch TV tomorrow"),
    ("can", "汤姆会说法语", "Tom can speak French"),
    ("clock", "现在是三点半", "It is half past three now"),
    ("date_today", "今天是五月三日", "Today is May 3"),
    ("because_tired", "因为我很累，所以我不想跑步", "I don't want to run because I am tired"),
    ("like_but_not", "我喜欢猫，但是不喜欢狗", "I like cats, but I don't like dogs"),
)


@pytest.fixture(scope="module")
def corpus() -> dict[str, list[tuple[str, str]]]:
    return {name: list(zip(_lines(f"{name}.zh"), _lines(f"{name}.en"), strict=True)) for name in PARTS}


@pytest.fixture(scope="module")
def script():
    sys.path.insert(0, str(FOLDER))
    yield importlib.import_module("make_corpus")
    sys.path.remove(str(FOLDER))


def _lines(name: str) -> list[str]:
    text = (FOLDER / name).read_bytes().decode()
    assert text.endswith("\n"), name
    assert "\r" not in text, name
    return text[:-1].split("\n")


def _english(corpus) -> list[str]:
    return [en for pairs in corpus.values() for _, en in pairs]


def _chinese(corpus) -> list[str]:
    return [zh for pairs in corpus.values() for zh, _ in pairs]


def _tokens(sentence: str) -> list[str]:
    return re.findall(r"[\w'-]+|[^\w\s]", sentence)


def test_script_remakes_the_committed_files_under_any_hash_seed(tmp_path):
    command = [sys.executable, str(FOLDER / "make_corpus.py"), "--output", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": "1"})
    for name in PARTS:
        for language in ("zh", "en"):
            made, committed = (folder / f"{name}.{language}" for folder in (tmp_path, FOLDER))
            assert made.read_bytes() == committed.read_bytes(), committed.name


def test_corpus_is_large_enough_and_small_enough(corpus):
    assert len({pair for pairs in corpus.values() for pair in pairs}) >= 12_000
    assert len(corpus["test"]) == 500
    assert len(corpus["valid"]) == 300
    assert sum((FOLDER / f"{name}.{language}").stat().st_size for name in PARTS for language in ("zh", "en")) < 3e6


def test_no_sentence_stands_twice_on_either_side(corpus):
    for sentences in (_chinese(corpus), _english(corpus)):
        assert len(set(sentences)) == len(sentences)


def test_named_pairs_are_in_train(corpus):
    assert {("我是一条狗", "I am a dog"), ("我喜欢打篮球", "I like playing basketball")} <= set(corpus["train"])


@pytest.mark.parametrize("part", ["valid", "test"])
def test_train_knows_every_character_and_token(corpus, part):
    characters = {character for zh, _ in corpus["train"] for character in zh}
    tokens = {token for _, en in corpus["train"] for token in _tokens(en)}
    assert {character for zh, _ in corpus[part] for character in zh} <= characters
    assert {token for _, en in corpus[part] for token in _tokens(en)} <= tokens


@pytest.mark.parametrize(("name", "zh", "en"), SAYABLE)
def test_frame_can_say(script, name, zh, en):
    (frame,) = [frame for frame in script.FRAMES if frame.__name__ == name]
    random = Random(0)
    assert any(frame(script.Draw(random)) == (zh, en) for _ in range(60_000))


def test_every_frame_translates_one_to_one(script):
    random, known = Random(2), script.Bijection([])
    for frame in script.FRAMES:
        for _ in range(150):
            known.add(frame(script.Draw(random)))


def test_a_second_translation_raises(script):
    known = script.Bijection([script.Phrase("猫", "cat")])
    assert not known.add(script.Phrase("猫", "cat"))
    with pytest.raises(ValueError, match="second translation"):
        known.add(script.Phrase("猫", "kitten"))
    with pytest.raises(ValueError, match="second translation"):
        known.add(script.Phrase("小猫", "cat"))


@pytest.mark.parametrize(
    "mistake",
    [
        r"\ba (?!useful|university)[aeiou]",
        r"\ban (?!honest)[^aeiou]",
        r"\b(two|three|four|five|six|seven|eight|nine|ten) (cat|dog|book|apple|child|box|cup|man|woman)\b",
        r"\b[Aa]n? (water|rice|bread|milk|tea|coffee|cheese|noodles|juice)\b",
        r"\b(childs|mouses|sheeps|mans|womans|gooses|wolfs|knifes|scarfs|fishes)\b",
        r"\b(goed|eated|runned|swimed|writed|buyed|drinked|gos|studys|watchs|haves)\b",
        r"^(He|She|Tom|Mary|My (?!favorite)\w+) (go|have|like|do|play|watch|study|eat|drink|are|am)\b",
        r"^(I|We|They|You) (goes|has|likes|does|plays|watches|studies|eats|drinks|is)\b",
        r"\b(runing|swiming|writeing|makeing|rideing|danceing|geting)\b",
        r"\b(do|does|did|don't|doesn't|didn't|will|won't|can|can't|should|must) \w+ed\b",
        r"\b(more|most) (?!honest)\w+(er|est)\b|\bmore (big|small|cheap)\b",
        r"\bis (are|is)\b|\b(\w+) \2\b",
        r"  |^ | $|\.",
    ],
)
def test_english_is_free_of(corpus, mistake):
    assert [en for en in _english(corpus) if re.search(mistake, en)] == []


def test_english_is_written_with_expected_characters(corpus):
    assert [en for en in _english(corpus) if not re.fullmatch(r"[A-Z][A-Za-z0-9 ,'-]*[A-Za-z0-9]\??", en)] == []


@pytest.mark.parametrize(
    "mistake",
    [
        r"(?<!十)二[个只条本辆张把件台支杯碗块头匹名位座家瓶片棵朵点岁]",
        r"不有|不没|没不|吗吗|了了|的的|们们",
        r"一(个|只|条)(书|车|汽车|马|牛|树|桌子)",
        r"(狗|猫|书|车|树)们",
        r"[两三四五六七八九十][名个]\w+们",
    ],
)
def test_chinese_is_free_of(corpus, mistake):
    assert [zh for zh in _chinese(corpus) if re.search(mistake, zh)] == []


def test_chinese_is_written_with_expected_characters(corpus):
    assert [zh for zh in _chinese(corpus) if not re.fullmatch(r"[\u4e00-\u9fff，]+？?", zh)] == []


def test_questions_are_questions_on_both_sides(corpus):
    for zh, en in (pair for pairs in corpus.values() for pair in pairs):
        assert zh.endswith("？") == en.endswith("?"), (zh, en)
