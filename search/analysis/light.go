package analysis

// The stemmers of this file are the light ones of Jacques Savoy (UniNE) that Lucene's analyzers of
// these languages have: they take endings of number and gender away, and little more.

// frenchLight is FrenchLightStemmer.
func frenchLight(r []rune) []rune {
	n := len(r)
	if n > 5 && r[n-1] == 'x' {
		if r[n-3] == 'a' && r[n-2] == 'u' && r[n-4] != 'e' {
			r[n-2] = 'l'
		}
		r = r[:n-1]
	}
	for _, last := range "xs" {
		if n := len(r); n > 3 && r[n-1] == last {
			r = r[:n-1]
		}
	}
	for _, stage := range frenchStages {
		was := len(r)
		var done bool
		if r, done = applyRules(r, stage.rules); !done {
			continue
		}
		if stage.then != nil {
			r = stage.then(r, was)
		}
		if !stage.goOn {
			break
		}
	}
	return frenchLetters(r)
}

// frenchStages are the endings, the first that fits is taken; after those that go on a later one
// may be taken too.
var frenchStages = []struct {
	rules []suffixes
	then  func(r []rune, was int) []rune
	goOn  bool
}{
	{rules: compileRules([]rule{{"issement", 9, 7, "r"}, {"issant", 8, 5, "r"}})},
	{rules: compileRules([]rule{{"ement", 6, 4, ""}}), then: func(r []rune, _ int) []rune {
		if len(r) > 3 && endsWith(r, "ive") {
			r = append(r[:len(r)-2], 'f')
		}
		return r
	}},
	{rules: compileRules([]rule{
		{"ficatrice", 11, 7, "er"}, {"ficateur", 10, 6, "er"}, {"catrice", 9, 7, "quer"}, {"cateur", 8, 6, "quer"},
		{"atrice", 8, 6, "er"}, {"ateur", 7, 5, "er"},
	})},
	{rules: compileRules([]rule{{"trice", 6, 4, "eur"}}), goOn: true},
	{rules: compileRules([]rule{
		{"ième", 5, 4, ""}, {"teuse", 7, 3, "r"}, {"teur", 6, 2, "r"}, {"euse", 5, 2, ""}, {"ère", 8, 3, "er"},
		{"ive", 7, 2, "f"}, {"folle", 4, 3, "u"}, {"molle", 4, 3, "u"}, {"nnelle", 9, 5, ""}, {"nnel", 9, 3, ""},
	})},
	{rules: compileRules([]rule{{"ète", 4, 3, "et"}}), goOn: true},
	{rules: compileRules([]rule{{"ique", 8, 4, ""}}), goOn: true},
	{rules: compileRules([]rule{{"esse", 8, 3, ""}, {"inage", 7, 3, ""}})},
	{rules: compileRules([]rule{{"isation", 9, 7, ""}}), then: func(r []rune, _ int) []rune {
		if len(r) > 5 && endsWith(r, "ual") {
			r[len(r)-2] = 'e'
		}
		return r
	}},
	{rules: compileRules([]rule{{"isateur", 9, 7, ""}, {"ation", 8, 5, ""}, {"ition", 8, 5, ""}})},
}

var frenchAccents = replacement("àáâ", "a", "ô", "o", "èéê", "e", "ùû", "u", "î", "i", "ç", "c")

// frenchLetters takes accents and what is left of endings away.
func frenchLetters(r []rune) []rune {
	if len(r) > 4 {
		r = single(replaceLetters(r, frenchAccents))
	}
	if n := len(r); n > 4 && endsWith(r, "ie") {
		r = r[:n-2]
	}
	if len(r) > 4 {
		for _, last := range "ree" {
			if n := len(r); r[n-1] == last {
				r = r[:n-1]
			}
		}
		if n := len(r); r[n-1] == r[n-2] && isLetter(r[n-1]) {
			r = r[:n-1]
		}
	}
	return r
}

var germanAccents = replacement("äàáâ", "a", "öòóô", "o", "ïìíî", "i", "üùúû", "u")

// germanLight is GermanLightStemmer.
func germanLight(r []rune) []rune {
	r = replaceLetters(r, germanAccents)
	switch n := len(r); {
	case n > 5 && endsWith(r, "ern"):
		r = r[:n-3]
	case n > 4 && r[n-2] == 'e' && oneOf(r[n-1], "mnrs"):
		r = r[:n-2]
	case n > 3 && r[n-1] == 'e', n > 3 && r[n-1] == 's' && oneOf(r[n-2], germanBeforeS):
		r = r[:n-1]
	}
	switch n := len(r); {
	case n > 5 && endsWith(r, "est"):
		return r[:n-3]
	case n > 4 && r[n-2] == 'e' && oneOf(r[n-1], "rn"), n > 4 && endsWith(r, "st") && oneOf(r[n-3], germanBeforeS):
		return r[:n-2]
	}
	return r
}

const germanBeforeS = "bdfghklmnt"

func oneOf(c rune, list string) bool {
	for _, x := range list {
		if x == c {
			return true
		}
	}
	return false
}

// germanNormal writes umlauts and ß as one letter in whichever way they are written
// (GermanNormalizationFilter).
func germanNormal(w *word) bool {
	r := w.runes()
	// fresh: an e that follows belongs to the vowel before it; closed: a u that follows does not
	// begin an umlaut.
	fresh, closed := false, false
	out := w.spare[:0]
	for _, c := range r {
		switch c {
		case 'a', 'o':
			fresh, closed = true, false
		case 'u':
			fresh = !fresh && !closed
			closed = !fresh
		case 'e':
			skip := fresh
			fresh, closed = false, true
			if skip {
				continue
			}
		case 'i', 'q', 'y':
			fresh, closed = false, true
		case 'ä', 'ö', 'ü':
			c = germanAccents[c]
			fresh, closed = false, true
		case 'ß':
			out = append(out, 's')
			c = 's'
			fresh, closed = false, false
		default:
			fresh, closed = false, false
		}
		out = append(out, c)
	}
	w.spare = r
	w.setRunes(out)
	return true
}

var latinAccents = replacement("àáâä", "a", "òóôö", "o", "èéêë", "e", "ùúûü", "u", "ìíîï", "i")

// italianLight is ItalianLightStemmer.
func italianLight(r []rune) []rune {
	n := len(r)
	if n < 6 {
		return r
	}
	r = replaceLetters(r, latinAccents)
	switch last, before := r[n-1], r[n-2]; {
	case oneOf(last, "ei") && oneOf(before, "ih"), oneOf(last, "ao") && before == 'i':
		return r[:n-2]
	case oneOf(last, "eiao"):
		return r[:n-1]
	}
	return r
}

// spanishLight is SpanishLightStemmer.
func spanishLight(r []rune) []rune {
	n := len(r)
	if n < 5 {
		return r
	}
	r = replaceLetters(r, latinAccents)
	switch {
	case oneOf(r[n-1], "oae"):
		return r[:n-1]
	case r[n-1] != 's':
	case endsWith(r, "eses"):
		return r[:n-2]
	case endsWith(r, "ces"):
		return append(r[:n-3], 'z')
	case oneOf(r[n-2], "oae"):
		return r[:n-2]
	}
	return r
}

var (
	portugueseAccents = replacement("àáâäã", "a", "òóôöõ", "o", "èéêë", "e", "ùúûü", "u", "ìíîï", "i", "ç", "c")
	portuguesePlurals = compileRules([]rule{
		{"res", 4, 2, ""}, {"ses", 4, 2, ""}, {"les", 4, 2, ""}, {"zes", 4, 2, ""}, {"ns", 3, 2, "m"},
		{"eis", 4, 3, "el"}, {"éis", 4, 3, "el"}, {"ais", 4, 2, "l"}, {"óis", 4, 3, "ol"}, {"is", 4, 1, "l"},
		{"ões", 3, 3, "ão"}, {"ães", 3, 3, "ão"}, {"mente", 6, 5, ""}, {"s", 3, 1, ""},
	})
	portugueseFeminines = compileRules([]rule{
		{"inha", 7, 1, "o"}, {"iaca", 7, 1, "o"}, {"eira", 7, 1, "o"}, {"osa", 6, 1, "o"}, {"ica", 6, 1, "o"},
		{"ida", 6, 1, "o"}, {"ada", 6, 1, "o"}, {"iva", 6, 1, "o"}, {"ama", 6, 1, "o"}, {"ona", 6, 3, "ão"},
		{"ora", 6, 1, ""}, {"esa", 6, 3, "ês"}, {"na", 6, 1, "o"},
	})
)

// portugueseLight is PortugueseLightStemmer.
func portugueseLight(r []rune) []rune {
	if len(r) < 4 {
		return r
	}
	r, _ = applyRules(r, portuguesePlurals)
	if n := len(r); n > 3 && r[n-1] == 'a' {
		r, _ = applyRules(r, portugueseFeminines)
	}
	if n := len(r); n > 4 && oneOf(r[n-1], "eao") {
		r = r[:n-1]
	}
	return replaceLetters(r, portugueseAccents)
}
