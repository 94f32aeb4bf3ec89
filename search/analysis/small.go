package analysis

import "slices"

// The stemmers of this file are small ones that Lucene's analyzers of these languages have, after
// published descriptions: Savoy's for Bulgarian and Czech, Tala's for Indonesian, Kreslins' for
// Latvian (its light part), Larkey's for Arabic, Ramanathan and Rao's for Hindi.

var (
	bulgarianArticles = compileRules([]rule{
		{"ият", 6, 3, ""}, {"ът", 5, 2, ""}, {"то", 5, 2, ""}, {"те", 5, 2, ""}, {"та", 5, 2, ""}, {"ия", 5, 2, ""},
		{"ят", 4, 2, ""},
	})
	bulgarianPlurals = compileRules([]rule{
		{"овци", 6, 3, ""}, {"ове", 6, 3, ""}, {"еве", 6, 3, "й"}, {"ища", 5, 3, ""}, {"та", 5, 2, ""},
		{"ци", 5, 2, "к"}, {"зи", 5, 2, "г"},
	})
	bulgarianShort = compileRules([]rule{{"си", 4, 2, "х"}, {"и", 4, 1, ""}})
)

// bulgarianStem cuts the article, then the plural, then what inflection does to a stem: final
// vowels, and vowels that come and go in it (Lucene's BulgarianStemmer). The limits on the length
// are the original's and differ from step to step.
func bulgarianStem(r []rune) []rune {
	if len(r) < 4 {
		return r
	}
	if len(r) > 5 && endsWith(r, "ища") {
		return r[:len(r)-3]
	}
	r, _ = applyRules(r, bulgarianArticles)
	var done bool
	if r, done = applyRules(r, bulgarianPlurals); !done {
		if n := len(r); n > 5 && r[n-3] == 'е' && r[n-1] == 'и' {
			r[n-3] = 'я'
			r = r[:n-1]
		} else {
			r, _ = applyRules(r, bulgarianShort)
		}
	}
	if len(r) > 3 {
		if endsWith(r, "я") {
			r = r[:len(r)-1]
		}
		if n := len(r); oneOf(r[n-1], "аое") {
			r = r[:n-1]
		}
	}
	if n := len(r); n > 4 && endsWith(r, "ен") {
		r = append(r[:n-2], 'н')
	}
	if n := len(r); n > 5 && r[n-2] == 'ъ' {
		r = append(r[:n-2], r[n-1])
	}
	return r
}

var czechCases = slices.Concat(
	cutRules(7, "atech"), cutRules(6, "ětem", "etem", "atům"),
	cutRules(5, "ech", "ich", "ích", "ého", "ěmi", "emi", "ému", "ěte", "ete", "ěti", "eti", "ího", "iho", "ími",
		"ímu", "imu", "ách", "ata", "aty", "ých", "ama", "ami", "ové", "ovi", "ými"),
	cutRules(4, "em", "es", "ém", "ím", "ům", "at", "ám", "os", "us", "ým", "mi", "ou"),
	cutRules(3, "a", "e", "i", "o", "u", "ů", "y", "á", "é", "í", "ý", "ě"),
)

var czechPossessives = cutRules(5, "ov", "in", "ův")

// czechStem cuts endings of cases, then of possessives, and undoes the changes of the last
// consonants (Lucene's CzechStemmer). Only one of the changes is made, the first that fits.
func czechStem(r []rune) []rune {
	r, _ = applyRules(r, czechCases)
	r, _ = applyRules(r, czechPossessives)
	n := len(r)
	switch {
	case n == 0:
	case endsWith(r, "čt"):
		r[n-2], r[n-1] = 'c', 'k'
	case endsWith(r, "št"):
		r[n-2], r[n-1] = 's', 'k'
	case oneOf(r[n-1], "cč"):
		r[n-1] = 'k'
	case oneOf(r[n-1], "zž"):
		r[n-1] = 'h'
	case n > 1 && r[n-2] == 'e':
		return append(r[:n-2], r[n-1])
	case n > 2 && r[n-2] == 'ů':
		r[n-2] = 'o'
	}
	return r
}

// indonesianWord is a word with what was taken off it, which decides what may come off next.
type indonesianWord struct {
	r         []rune
	syllables int
	off       string // one letter for each prefix: k, p (peng), d, m, t, b, e (pe)
}

// indonesianStem takes off particles, possessive pronouns, then prefixes and one suffix in an order
// that depends on what came off first (Lucene's IndonesianStemmer). A word of two syllables or
// fewer is not shortened any more, whatever it ends with.
func indonesianStem(r []rune) []rune {
	w := indonesianWord{r: r}
	for _, c := range r {
		if oneOf(c, "aeiou") {
			w.syllables++
		}
	}
	w.suffix("kah", "lah", "pun")
	if w.syllables > 2 && !w.suffix("ku", "mu") {
		w.suffix("nya")
	}
	switch {
	case w.prefix(indonesianFirst):
		if w.derivation() {
			w.prefix(indonesianSecond)
		}
	default:
		w.prefix(indonesianSecond)
		w.derivation()
	}
	return w.r
}

// suffix takes the first of some suffixes off, as long as two syllables stay.
func (w *indonesianWord) suffix(list ...string) bool {
	for _, s := range list {
		if w.syllables > 2 && endsWith(w.r, s) {
			w.r = w.r[:len(w.r)-len(s)]
			w.syllables--
			return true
		}
	}
	return false
}

// without reports whether none of some prefixes was taken off: some suffixes do not go with them.
func (w *indonesianWord) without(prefixes string) bool {
	for _, p := range prefixes {
		if oneOf(p, w.off) {
			return false
		}
	}
	return true
}

// derivation takes a suffix off that goes with the prefixes.
func (w *indonesianWord) derivation() bool {
	switch {
	case endsWith(w.r, "kan") && w.without("kpe"):
		return w.suffix("kan")
	case endsWith(w.r, "an") && w.without("dmt"):
		return w.suffix("an")
	case endsWith(w.r, "i") && !endsWith(w.r, "si") && w.without("bkp"):
		return w.suffix("i")
	}
	return false
}

// indonesianPrefix is a prefix, for words of which vowel says whether one has to follow it, with
// the letter that takes its place.
type indonesianPrefix struct {
	prefix string
	cut    int
	vowel  bool
	by     rune
	off    string
	fits   func(r []rune) bool
}

var indonesianFirst = []indonesianPrefix{
	{prefix: "meng", cut: 4, off: "m"}, {prefix: "meny", cut: 3, vowel: true, by: 's', off: "m"},
	{prefix: "men", cut: 3, off: "m"}, {prefix: "mem", cut: 3, off: "m"}, {prefix: "me", cut: 2, off: "m"},
	{prefix: "peng", cut: 4, off: "p"}, {prefix: "peny", cut: 3, vowel: true, by: 's', off: "p"},
	{prefix: "peny", cut: 4, off: "p"}, {prefix: "pen", cut: 2, vowel: true, by: 't', off: "p"},
	{prefix: "pen", cut: 3, off: "p"}, {prefix: "pem", cut: 3, off: "p"}, {prefix: "di", cut: 2, off: "d"},
	{prefix: "ter", cut: 3, off: "t"}, {prefix: "ke", cut: 2, off: "k"},
}

var indonesianSecond = []indonesianPrefix{
	{prefix: "ber", cut: 3, off: "b"},
	{prefix: "belajar", cut: 3, off: "b", fits: func(r []rune) bool { return len(r) == 7 }},
	{prefix: "be", cut: 2, off: "b", fits: func(r []rune) bool {
		return len(r) > 4 && !oneOf(r[2], "aeiou") && r[3] == 'e' && r[4] == 'r'
	}},
	{prefix: "per", cut: 3},
	{prefix: "pelajar", cut: 3, fits: func(r []rune) bool { return len(r) == 7 }},
	{prefix: "pe", cut: 2, off: "e"},
}

// prefix takes off the first prefix of a list that fits and reports whether there was one. Some
// prefixes have swallowed the first letter of the word, which is put back (by).
func (w *indonesianWord) prefix(list []indonesianPrefix) bool {
	if w.syllables <= 2 {
		return false
	}
	for _, p := range list {
		n := len(p.prefix)
		if !startsWith(w.r, p.prefix) || p.fits != nil && !p.fits(w.r) ||
			p.vowel && (len(w.r) <= n || !oneOf(w.r[n], "aeiou")) {
			continue
		}
		w.r = w.r[p.cut:]
		if p.by != 0 {
			w.r[0] = p.by
		}
		w.off += p.off
		w.syllables--
		return true
	}
	return false
}

// latvianEnding is an ending; vowels is how many of them the word has to have more than, soft:
// consonants before it may have become soft because of it.
type latvianEnding struct {
	ending string
	vowels int
	soft   bool
}

var latvianEndings = []latvianEnding{
	{"ajiem", 3, false}, {"ajai", 3, false}, {"ajam", 2, false}, {"ajām", 2, false}, {"ajos", 2, false},
	{"ajās", 2, false}, {"iem", 2, true}, {"ajā", 2, false}, {"ais", 2, false}, {"ai", 2, false}, {"ei", 2, false},
	{"ām", 1, false}, {"am", 1, false}, {"ēm", 1, false}, {"īm", 1, false}, {"im", 1, false}, {"um", 1, false},
	{"us", 1, true}, {"as", 1, false}, {"ās", 1, false}, {"es", 1, false}, {"os", 1, true}, {"ij", 1, false},
	{"īs", 1, false}, {"ēs", 1, false}, {"is", 1, false}, {"ie", 1, false}, {"u", 1, true}, {"a", 1, true},
	{"i", 1, true}, {"e", 1, false}, {"ā", 1, false}, {"ē", 1, false}, {"ī", 1, false}, {"ū", 1, false},
	{"o", 1, false}, {"s", 0, false}, {"š", 0, false},
}

var (
	latvianSoftU = compileRules([]rule{{"kš", 0, 1, "st"}, {"ņņ", 0, 2, "nn"}})
	latvianSoft  = compileRules([]rule{
		{"pj", 0, 1, ""}, {"bj", 0, 1, ""}, {"mj", 0, 1, ""}, {"vj", 0, 1, ""}, {"šņ", 0, 2, "sn"}, {"žņ", 0, 2, "zn"},
		{"šļ", 0, 2, "sl"}, {"žļ", 0, 2, "zl"}, {"ļņ", 0, 2, "ln"}, {"ļļ", 0, 2, "ll"}, {"č", 0, 1, "c"},
		{"ļ", 0, 1, "l"}, {"ņ", 0, 1, "n"},
	})
)

// latvianStem cuts the first ending of the list that leaves enough: three letters, and more vowels
// than the ending asks for. Endings that soften the consonant before them have it hardened again.
// first is the first letter of the ending: before u other consonants are softened than before other
// vowels.
func latvianStem(r []rune) []rune {
	vowels := 0
	for _, c := range r {
		if oneOf(c, "aeiouāīēū") {
			vowels++
		}
	}
	for _, e := range latvianEndings {
		if vowels <= e.vowels || !endsWith(r, e.ending) {
			continue
		}
		n := len(r)
		for range e.ending {
			n--
		}
		if n < 3 {
			continue
		}
		first := r[n]
		r = r[:n]
		if !e.soft {
			return r
		}
		if first == 'u' {
			var done bool
			if r, done = applyRules(r, latvianSoftU); done {
				return r
			}
		}
		r, _ = applyRules(r, latvianSoft)
		return r
	}
	return r
}

// arabicLetters are other forms of letters, and signs of vowels, which go
// (ArabicNormalizationFilter).
var arabicLetters = replacement("\u0622\u0623\u0625", "\u0627", "\u0649", "\u064A", "\u0629", "\u0647",
	"\u0640\u064B\u064C\u064D\u064E\u064F\u0650\u0651\u0652", "")

var (
	arabicPrefixes = []string{"ال", "وال", "بال", "كال", "فال", "لل", "و"}
	arabicSuffixes = []string{"ها", "ان", "ات", "ون", "ين", "يه", "ية", "ه", "ة", "ي"}
)

// arabicStem takes one prefix off, and every suffix of the list once, in its order (ArabicStemmer).
// Two letters have to remain, and a word that loses a single letter must have had four.
func arabicStem(r []rune) []rune {
	for _, p := range arabicPrefixes {
		n := len(p) / 2
		if least := 2; startsWith(r, p) && len(r)-n >= least && (n > 1 || len(r) >= 4) {
			r = r[n:]
			break
		}
	}
	for _, s := range arabicSuffixes {
		if n := len(s) / 2; endsWith(r, s) && len(r)-n >= 2 {
			r = r[:len(r)-n]
		}
	}
	return r
}

// persianLetters are forms of letters that Persian and Arabic write differently
// (PersianNormalizationFilter).
var persianLetters = replacement("\u06CC\u06D2", "\u064A", "\u06A9", "\u0643", "\u06C0\u06C1", "\u0647", "\u0654", "")

// hindiLetters are spellings that become one (HindiNormalizationFilter).
var hindiLetters = replacement(
	"\u0901", "\u0902", "\u093C\u200D\u200C\u094D", "", "\u0929", "\u0928", "\u0931", "\u0930", "\u0934", "\u0933",
	"\u0958", "\u0915", "\u0959", "\u0916", "\u095A", "\u0917", "\u095B", "\u091C", "\u095C", "\u0921", "\u095D",
	"\u0922", "\u095E", "\u092B", "\u095F", "\u092F", "\u0945\u0946\u0948", "\u0947", "\u0949\u094A\u094C", "\u094B",
	"\u090D\u090E\u0910", "\u090F", "\u0911\u0912\u0914", "\u0913", "\u0972\u0906", "\u0905", "\u0908", "\u0907",
	"\u090A", "\u0909", "\u0960", "\u090B", "\u0961", "\u090C", "\u0940", "\u093F", "\u0942", "\u0941", "\u0944",
	"\u0943", "\u0963", "\u0962",
)

// devanagariPairs are vowels that are written as two signs (IndicNormalizationFilter).
var devanagariPairs = map[[2]rune]rune{
	{0x905, 0x93E}: 0x906, {0x905, 0x945}: 0x972, {0x905, 0x946}: 0x904, {0x905, 0x949}: 0x911, {0x905, 0x94A}: 0x912,
	{0x905, 0x94B}: 0x913, {0x905, 0x94C}: 0x914, {0x906, 0x945}: 0x911, {0x906, 0x946}: 0x912, {0x906, 0x947}: 0x913,
	{0x906, 0x948}: 0x914, {0x909, 0x941}: 0x90A, {0x90F, 0x945}: 0x90D, {0x90F, 0x946}: 0x90E, {0x90F, 0x947}: 0x910,
	{0x93E, 0x945}: 0x949, {0x93E, 0x946}: 0x94A, {0x93E, 0x947}: 0x94B, {0x93E, 0x948}: 0x94C,
}

// composed writes vowels of two or three signs as one.
func composed(r []rune) []rune {
	out := r[:0]
	for i := 0; i < len(r); i++ {
		c := r[i]
		if c == 0x905 && i+2 < len(r) && r[i+1] == 0x93E && 0x945 <= r[i+2] && r[i+2] <= 0x948 {
			c = 0x911 + r[i+2] - 0x945
			i += 2
		} else if i+1 < len(r) {
			if one, ok := devanagariPairs[[2]rune{c, r[i+1]}]; ok {
				c = one
				i++
			}
		}
		out = append(out, c)
	}
	return out
}

// hindiNormal makes the several spellings of a Hindi word one (HindiNormalizer).
func hindiNormal(r []rune) []rune {
	r = composed(r)
	out := r[:0]
	for i := 0; i < len(r); i++ {
		c := r[i]
		if c == '\u0928' && i+1 < len(r) && r[i+1] == '\u094D' {
			c = '\u0902'
			i++
		} else if to, ok := hindiLetters[c]; ok {
			c = to
		}
		if c != 0 {
			out = append(out, c)
		}
	}
	return out
}

var hindiSuffixes = slices.Concat(
	cutRules(6, "ाएंगी", "ाएंगे", "ाऊंगी", "ाऊंगा", "ाइयाँ", "ाइयों", "ाइयां"),
	cutRules(5, "ाएगी", "ाएगा", "ाओगी", "ाओगे", "एंगी", "ेंगी", "एंगे", "ेंगे", "ूंगी", "ूंगा", "ातीं", "नाओं", "नाएं", "ताओं",
		"ताएं", "ियाँ", "ियों", "ियां"),
	cutRules(4, "ाकर", "ाइए", "ाईं", "ाया", "ेगी", "ेगा", "ोगी", "ोगे", "ाने", "ाना", "ाते", "ाती", "ाता", "तीं", "ाओं", "ाएं",
		"ुओं", "ुएं", "ुआं"),
	cutRules(3, "कर", "ाओ", "िए", "ाई", "ाए", "ने", "नी", "ना", "ते", "ीं", "ती", "ता", "ाँ", "ां", "ों", "ें"),
	cutRules(2, "ो", "े", "ू", "ु", "ी", "ि", "ा"),
)

func hindiStem(r []rune) []rune {
	r, _ = applyRules(r, hindiSuffixes)
	return r
}
