// Corrects code, addresses and long numbers that a translation misspells, as nmt does.

/** Returns a function of a source and its translation that corrects the translation. */
export function repairer({ run, edges, mark, characters, common, most }) {
  const [runs, marks, ends] = [new RegExp(run, "gu"), new RegExp(mark, "u"), new RegExp(edges, "gu")];

  function codes(text) {
    const trimmed = [...text.matchAll(runs)].map((each) => {
      const code = each[0].replace(ends, "");
      return { code, start: each.index + each[0].indexOf(code) };
    });
    return trimmed.filter(
      ({ code }) => code.length >= characters && /^[\x00-\x7f]*$/.test(code) && marks.test(code),
    );
  }

  return (source, translation) => {
    const known = new Set(codes(source).map(({ code }) => code));
    const found = codes(translation);
    const written = new Set(found.map(({ code }) => code));
    const lost = [...known].filter((code) => !written.has(code));
    const wrong = found.filter(({ code }) => !known.has(code));
    if (Math.max(lost.length, wrong.length) > most) return translation;
    // It may still be a part of longer code of the translation.
    const missing = lost.filter((code) => !translation.includes(code));
    const pairs = missing.flatMap((right) =>
      wrong.map(({ code, start }) => ({ right, code, start, share: share(right, code) })),
    );
    pairs.sort((one, other) => other.share - one.share);
    const [used, edits] = [new Set(), new Map()];
    for (const pair of pairs) {
      if (pair.share < common || used.has(pair.right) || edits.has(pair.start)) continue;
      used.add(pair.right);
      edits.set(pair.start, pair);
    }
    for (const start of [...edits.keys()].sort((one, other) => other - one)) {
      const { code, right } = edits.get(start);
      translation = translation.slice(0, start) + right + translation.slice(start + code.length);
    }
    return translation;
  };
}

/** The share of the longer one's characters that both begin and end with. */
function share(one, other) {
  const [shorter, longer] = [one.length, other.length].sort((a, b) => a - b);
  let start = 0;
  while (start < shorter && one[start] === other[start]) start++;
  let end = 0;
  while (end < shorter - start && one.at(-1 - end) === other.at(-1 - end)) end++;
  return (start + end) / longer;
}
