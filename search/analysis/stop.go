package analysis

import (
	"embed"
	"strings"
	"sync"
)

// stopFiles are the stop words that Lucene's analyzers have, a language a file: those of the
// Snowball project and of Jacques Savoy (both BSD), others from Lucene (Apache 2.0). Lines that
// begin with # are comments.
//
//go:embed stopwords/*.txt
var stopFiles embed.FS

// stopSet is a set of words.
type stopSet map[string]struct{}

func newStopSet(words []string) stopSet {
	set := make(stopSet, len(words))
	for _, word := range words {
		set[word] = struct{}{}
	}
	return set
}

var stopSets sync.Map // name of the file -> stopSet

// stopWords are the stop words of a language; none if there is no file.
func stopWords(language string) stopSet {
	if set, ok := stopSets.Load(language); ok {
		return set.(stopSet)
	}
	text, err := stopFiles.ReadFile("stopwords/" + language + ".txt")
	if err != nil {
		return nil
	}
	var words []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			words = append(words, strings.Fields(line)...)
		}
	}
	set := newStopSet(words)
	stopSets.Store(language, set)
	return set
}

// stop drops the words of a set.
func stop(set stopSet) step {
	return func(w *word) bool {
		_, found := set[string(w.bytes())]
		return !found
	}
}
