package analysis

import (
	"slices"
	"strings"
	"sync"
)

// The stemmer for Greek after Ntais, as GreekStemmer has it: twenty stages that take endings of a
// kind away, each with words that get a part of them back. Words have small letters without
// accents, and σ at their ends.

// greekStage takes the first ending that a word has, and appends back if the rest is one of words,
// ends with one of ends or with a letter of vowels, unless except or exceptEnd forbids that.
// Endings are shorter than the word but for those with = before them, which may be all of it.
type greekStage struct {
	endings           []string
	back              string
	words, ends       []string
	vowels            string
	except, exceptEnd []string
	unless            bool // add back where the conditions do not hold
}

// apply does one stage for a word: it cuts the first ending that fits and adds back what the rest
// of the word asks for.
func (s *greekStage) apply(r []rune) []rune {
	cut, whole := "", false
	for _, ending := range s.endings {
		if cut, whole = strings.CutPrefix(ending, "="); endsWith(r, cut) && (whole || len(r) > len([]rune(cut))) {
			break
		}
		cut = ""
	}
	if cut == "" {
		return r
	}
	r = r[:len(r)-len([]rune(cut))]
	holds := hasAny(r, s.words, s.ends) || len(r) > 0 && oneOf(r[len(r)-1], s.vowels)
	if holds && hasAny(r, s.except, s.exceptEnd) {
		holds = false
	}
	if holds != s.unless {
		r = append(r, []rune(s.back)...)
	}
	return r
}

// hasAny reports whether a word is one of some, or ends with one of others.
func hasAny(r []rune, words, ends []string) bool {
	return slices.Contains(words, string(r)) ||
		slices.ContainsFunc(ends, func(end string) bool { return endsWith(r, end) })
}

// greekWords are words with the letters that they lose, which other rules do not get right.
var greekWords = []struct {
	cut   int
	words string
}{
	{4, "καθεστωτοσ καθεστωτων γεγονοτοσ γεγονοτων"}, {3, "καθεστωτα"}, {4, "τατογιου τατογιων"}, {3, "γεγονοτα"},
	{2, "καθεστωσ"}, {4, "σκαγιου σκαγιων ολογιου ολογιων κρεατοσ κρεατων περατοσ περατων τερατοσ τερατων"},
	{3, "τατογια"}, {2, "γεγονοσ"}, {4, "φαγιου φαγιων σογιου σογιων"}, {3, "σκαγια ολογια κρεατα περατα τερατα"},
	{3, "φαγια σογια φωτοσ φωτων"}, {2, "κρεασ περασ τερασ φωτα"}, {1, "φωσ"},
}

// greekTable are the stages, a line each: the name of a list and what is in it.
const greekTable = `
endings αδεσ αδων; back αδ; unless; ends οκ μαμ μαν μπαμπ πατερ γιαγι νταντ κυρ θει πεθερ
endings εδεσ εδων; back εδ; ends οπ ιπ εμπ υπ γηπ δαπ κρασπ μιλ
endings ουδεσ ουδων; back ουδ; ends αρκ καλιακ πεταλ λιχ πλεξ σκ σ φλ φρ βελ λουλ χν σπ τραγ φε
endings εωσ εων; back ε; words θ δ ελ γαλ ν π ιδ παρ
endings ια ιου ιων; back ι; vowels αεηιουω
endings ικα ικο ικου ικων; back ικ; vowels αεηιουω; words αλ αδ ενδ αμαν αμμοχαλ ηθ ανηθ αντιδ φυσ βρωμ γερ εξωδ καλπ
 καλλιν καταδ μουλ μπαν μπαγιατ μπολ μποσ νιτ ξικ συνομηλ πετσ πιτσ πικαντ πλιατσ ποστελν πρωτοδ σερτ συναδ τσαμ υποδ
 φιλον φυλοδ χασ
endings ηθηκαμε ουσαμε αγαμε ησαμε ηκαμε
endings αμε; back αμ; words αναπ αποθ αποκ αποστ βουβ ξεθ ουλ πεθ πικρ ποτ σιχ χ
endings ιουντανε ιοντανε =ουντανε =ηθηκανε ιοτανε =οντανε =ουσανε αγανε =ησανε =οτανε =ηκανε; back αγαν; words τρ τσ
endings ανε; back αν; vowels αεηιοω; words βετερ βουλκ βραχμ γ δραδουμ θ καλπουζ καστελ κορμορ λαοπλ μωαμεθ μ μουσουλμ
 ν ουλ π πελεκ πλ πολισ πορτολ σαρακατσ σουλτ τσαρλατ ορφ τσιγγ τσοπ φωτοστεφ χ ψυχοπλ αγ γαλ γερ δεκ διπλ αμερικαν ουρ
 πιθ πουριτ σ ζωντ ικ καστ κοπ λιχ λουθηρ μαιντ μελ σιγ σπ στεγ τραγ τσαγ φ ερ αδαπ αθιγγ αμηχ ανικ ανοργ απηγ απιθ
 ατσιγγ βασ βασκ βαθυγαλ βιομηχ βραχυκ διατ διαφ ενοργ θυσ καπνοβιομηχ καταγαλ κλιβ κοιλαρφ λιβ μεγλοβιομηχ μικροβιομηχ
 νταβ ξηροκλιβ ολιγοδαμ ολογαλ πενταρφ περηφ περιτρ πλατ πολυδαπ πολυμηχ στεφ ταβ τετ υπερηφ υποκοπ χαμηλοδαπ ψηλοταβ
endings ησετε
endings ετε; back ετ; vowels αεηιοω; words αβαρ βεν εναρ αβρ αδ αθ αν απλ βαρον ντρ σκ κοπ μπορ νιφ παγ παρακαλ σερπ
 σκελ συρφ τοκ υ δ εμ θαρρ θ; ends οδ αιρ φορ ταθ διαθ σχ ενδ ευρ τιθ υπερθ ραθ ενθ ροθ σθ πυρ αιν συνδ συν συνθ χωρ
 πον βρ καθ ευθ εκθ νετ ρον αρκ βαρ βολ ωφελ
endings οντασ ωντασ; back οντ; words αρχ
endings ομαστε; back ομαστ; words ον
endings ιεστε; back ιεστ; words π απ συμπ ασυμπ ακαταπ αμεταμφ
endings εστε; back εστ; words αλ αρ εκτελ ζ μ ξ παρακαλ προ νισ
endings ηθηκεσ ηθηκα ηθηκε
endings ηκεσ ηκα ηκε; back ηκ; words διαθ θ παρακαταθ προσθ συνθ; ends σκωλ σκουλ ναρθ σφ οθ πιθ
endings ουσεσ ουσα ουσε; back ουσ; vowels αεηιουω; words φαρμακ χαδ αγκ αναρρ βρομ εκλιπ λαμπιδ λεχ μ πατ ρ λ μεδ μεσαζ
 υποτειν αμ αιθ ανηκ δεσποζ ενδιαφερ δε δευτερευ καθαρευ πλε τσα; ends ποδαρ βλεπ πανταχ φρυδ μαντιλ μαλλ κυματ λαχ ληγ
 φαγ ομ πρωτ
endings αγεσ αγα αγε; back αγ; words αβαστ πολυφ αδηφ παμφ ρ ασπ αφ αμαλ αμαλλι ανυστ απερ ασπαρ αχαρ δερβεν δροσοπ ξεφ
 νεοπ νομοτ ολοπ ομοτ προστ προσωποπ συμπ συντ τ υποτ χαρ αειπ αιμοστ ανυπ αποτ αρτιπ διατ εν επιτ κροκαλοπ σιδηροπ λ
 ναυ ουλαμ ουρ π τρ μ; ends οφ πελ χορτ λλ σφ ρπ φρ πρ λοχ σμην; except ψοφ ναυλοχ; exceptEnd κολλ
endings ησου ησε ησα; back ησ; words ν χερσον δωδεκαν ερημον μεγαλον επταν
endings ηστε; back ηστ; words ασβ σβ αχρ χρ απλ αειμν δυσχρ ευχρ κοινοχρ παλιμψ
endings ησουνε ηθουνε ουνε; back ουν; words ν ρ σπι στραβομουτσ κακομουτσ εξων
endings ησουμε ηθουμε ουμε; back ουμ; words παρασουσ φ χ ωριοπλ αζ αλλοσουσ ασουσ
`

// greekRest are the endings of words that no stage shortened, and the ones of comparatives at last.
const (
	greekRest = `ιοντουσαν ιομασταν ιοσασταν ιουμαστε οντουσαν ιεμαστε ιεσαστε ιομουνα ιοσαστε ιοσουνα ιουνται ιουνταν
ηθηκατε ομασταν οσασταν ουμαστε ιομουν ιονταν ιοσουν ηθειτε ηθηκαν ομουνα οσαστε οσουνα ουνται ουνταν ουσατε αγατε ιεμαι
ιεται ιεσαι ιοταν ιουμα ηθεισ ηθουν ηκατε ησατε ησουν ομουν ονται ονταν οσουν ουμαι ουσαν αγαν αμαι ασαι αται ειτε εσαι
εται ηδεσ ηδων ηθει ηκαν ησαν ησει ησεσ ομαι οταν αει εισ ηθω ησω ουν ουσ αν ασ αω ει εσ ησ οι οσ ου υσ ων α ε η ι ο υ
ω`
	greekComparatives = `=εστερ =εστατ =οτερ =οτατ =υτερ =υτατ =ωτερ =ωτατ`
)

var greekStages = sync.OnceValue(func() (all []*greekStage) {
	for _, line := range strings.Split(strings.ReplaceAll(strings.TrimSpace(greekTable), "\n ", " "), "\n") {
		s := &greekStage{}
		for _, list := range strings.Split(line, ";") {
			fields := strings.Fields(list)
			values := fields[1:]
			switch fields[0] {
			case "endings":
				s.endings = values
			case "back":
				s.back = values[0]
			case "words":
				s.words = values
			case "ends":
				s.ends = values
			case "vowels":
				s.vowels = values[0]
			case "except":
				s.except = values
			case "exceptEnd":
				s.exceptEnd = values
			case "unless":
				s.unless = true
			}
		}
		all = append(all, s)
	}
	return all
})

var greekLast = sync.OnceValue(func() [2]*greekStage {
	return [2]*greekStage{{endings: strings.Fields(greekRest)}, {endings: strings.Fields(greekComparatives)}}
})

// greekStem is Lucene's GreekStemmer (after Ntais): words by a list, then the stages in their
// order, each cutting what the one before has left. Two of the stages have words of their own that
// are no endings, and are handled here. The long list of remaining endings is used only if nothing
// was cut so far.
func greekStem(r []rune) []rune {
	n := len(r)
	if n < 4 {
		return r
	}
	r = greekWord(r)
	for _, s := range greekStages() {
		switch {
		case s.endings[0] == "ηθηκαμε" && string(r) == "αγαμε":
			r = r[:4]
			continue
		case s.endings[0] == "οντασ" && (endsWith(r, "κρεοντασ") || endsWith(r, "κρεωντασ")):
			r = append(r[:len(r)-5], []rune("ωντ")...)
			continue
		}
		r = s.apply(r)
	}
	switch {
	case len(r) > 5 && (endsWith(r, "ματων") || endsWith(r, "ματοσ")):
		r = r[:len(r)-3]
	case len(r) > 4 && endsWith(r, "ματα"):
		r = r[:len(r)-2]
	}
	last := greekLast()
	if len(r) == n {
		r = last[0].apply(r)
	}
	return last[1].apply(r)
}

// greekWord shortens the words that the stemmer knows whole, before its rules.
func greekWord(r []rune) []rune {
	for _, w := range greekWords {
		if slices.ContainsFunc(strings.Fields(w.words), func(end string) bool { return endsWith(r, end) }) {
			return r[:len(r)-w.cut]
		}
	}
	return r
}
