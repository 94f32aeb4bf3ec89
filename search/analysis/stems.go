package analysis

// stemCache remembers what stemmers made of words: a text has few different ones, and texts share
// most of them.
type stemCache struct {
	entries []stemEntry
}

type stemEntry struct {
	stemmer    *stemmer
	word, stem string
}

// stemmer makes stems of words in small letters.
type stemmer struct {
	stem func(word string) string
}

const (
	cachedStems   = 1 << 10
	longestCached = 48
)

// step is the stemmer as a step.
func (s *stemmer) step(w *word) bool {
	b := w.bytes()
	if len(b) > longestCached {
		w.setString(s.stem(string(b)))
		return true
	}
	cache := &w.t.stems
	if cache.entries == nil {
		cache.entries = make([]stemEntry, cachedStems)
	}
	hash := uint32(2166136261)
	for _, c := range b {
		hash = (hash ^ uint32(c)) * 16777619
	}
	e := &cache.entries[(hash^hash>>16)%cachedStems]
	if e.stemmer != s || e.word != string(b) {
		word := string(b)
		*e = stemEntry{s, word, s.stem(word)}
	}
	if e.stem != e.word {
		w.setString(e.stem)
	}
	return true
}

// cached is a step that stems, for stemmers that are slow enough to be remembered.
func cached(stem func([]rune) []rune) step {
	s := &stemmer{stem: func(word string) string { return string(stem([]rune(word))) }}
	return s.step
}
