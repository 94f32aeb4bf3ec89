package analysis

import "bytes"

// elision takes an article and its apostrophe from the begin of a word: l'avion (ElisionFilter).
func elision(articles ...string) step {
	set := newStopSet(articles)
	return func(w *word) bool {
		b := w.bytes()
		cut := bytes.IndexByte(b, '\'')
		n := 1
		if curly := bytes.Index(b, []byte("\u2019")); curly >= 0 && (cut < 0 || curly < cut) {
			cut, n = curly, len("\u2019")
		}
		if cut < 0 {
			return true
		}
		if _, ok := set[string(bytes.ToLower(b[:cut]))]; ok {
			w.setBytes(b[cut+n:])
		}
		return true
	}
}
