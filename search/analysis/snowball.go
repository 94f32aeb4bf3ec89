package analysis

import (
	"sync"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/turkish"
)

// The stemmers of the Snowball project, as its compiler makes them for Go.
var (
	danishStems    = snowball(danish.Stem)
	dutchStems     = snowball(dutch.Stem)
	finnishStems   = snowball(finnish.Stem)
	hungarianStems = snowball(hungarian.Stem)
	irishStems     = snowball(irish.Stem)
	norwegianStems = snowball(norwegian.Stem)
	romanianStems  = snowball(romanian.Stem)
	russianStems   = snowball(russian.Stem)
	swedishStems   = snowball(swedish.Stem)
	turkishStems   = snowball(turkish.Stem)
)

var environments = sync.Pool{New: func() any { return snowballstem.NewEnv("") }}

// snowball makes a stemmer of a generated one. Its environments are used again, and hold no word
// meanwhile.
func snowball(stem func(*snowballstem.Env) bool) *stemmer {
	return &stemmer{stem: func(word string) string {
		env := environments.Get().(*snowballstem.Env)
		env.SetCurrent(word)
		stem(env)
		stemmed := env.Current()
		env.SetCurrent("")
		environments.Put(env)
		return stemmed
	}}
}

// dutchOverrides are words whose stems Lucene's analyzer knows by heart.
var dutchOverrides = map[string]string{"fiets": "fiets", "bromfiets": "bromfiets", "ei": "eier", "kind": "kinder"}

// dutchStem has some words by heart, which the algorithm would make wrong.
func dutchStem(w *word) bool {
	if stem, ok := dutchOverrides[string(w.bytes())]; ok {
		w.setString(stem)
		return true
	}
	return dutchStems.step(w)
}
