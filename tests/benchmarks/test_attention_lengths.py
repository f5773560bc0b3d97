"""The comparison by length trains on lines of several sentences, the same on both sides."""

from pathlib import Path

from attention_lengths import MAX_SENTENCES, SIZES, write_texts

from nmt_cli.data.corpus import sentence_pairs


def test_lines_are_one_to_five_pairs_of_the_phrasebook(tmp_path: Path) -> None:
    write_texts(tmp_path)
    source, target = ((tmp_path / f"dev.{side}").read_text().splitlines() for side in ("pt", "en"))
    assert len(source) == len(target) == SIZES["dev"]
    pairs = [(pair["pt"], pair["en"]) for pair in sentence_pairs("dev")]
    for line, translation in zip(source, target, strict=True):
        used = [(pt, en) for pt, en in pairs if pt in line and en in translation]
        assert used
    words = [len(line.split()) for line in source]
    assert min(words) <= 10 < 20 < max(words) <= MAX_SENTENCES * 15


def test_the_texts_are_the_same_each_time(tmp_path: Path) -> None:
    texts = []
    for _ in range(2):
        write_texts(tmp_path)
        texts.append([path.read_bytes() for path in sorted(tmp_path.iterdir())])
    assert texts[0] == texts[1]
