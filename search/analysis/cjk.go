package analysis

import "unicode/utf8"

// This file is the cjk analyzer: two neighbouring characters of Chinese, Japanese and Korean are a
// term, each overlapping the next (CJKBigramFilter). The analyzers chinese, japanese and thai,
// which in Lucene know words from dictionaries, are made of it too: what is searched is found, with
// more beside it.

// bigrams is how an analyzer makes pairs.
type bigrams struct {
	stop stopSet
	// thai makes pairs of the letters with their marks of scripts of South East Asia, and of
	// nothing else.
	thai bool
	// steps are for terms that are no pairs.
	steps []step
}

// piece is a character of a run that pairs are made of, or a letter with its marks.
type piece struct {
	from, to   int32 // in Tokens.pieces
	start, end int32
}

// pairRun is the run that is being read.
type pairRun struct {
	pieces []piece
	bytes  []byte
	end    int // where the last token ended
}

// analyze makes pairs of neighbouring characters of scripts that do not separate words (Lucene's
// CJKBigramFilter; for thai, letters of South East Asia with their marks), and terms of all other
// words. Only characters that touch in the text form a run: a space, a mark or a word of another
// script ends it.
func (p *bigrams) analyze(a *Analyzer, t *Tokens, text string) {
	run := &t.run
	run.reset()
	a.tokens(text, func(start, end int, kind kind, dropped bool) {
		if dropped {
			t.gap++
			return
		}
		token := text[start:end]
		pairs := kind == kindIdeograph || kind == kindHiragana || kind == kindKatakana || kind == kindHangul
		if p.thai {
			r, _ := utf8.DecodeRuneInString(token)
			c := classes9().of(r)
			pairs = c == complexContext || c == complexMark
		}
		if !pairs || start != run.end {
			p.flush(t, run)
		}
		if pairs {
			run.read(t, token, start, end, p.thai)
			return
		}
		w := &t.word
		w.begin(t, token, kind)
		keep := true
		for i := 0; keep && i < len(p.steps); i++ {
			keep = p.steps[i](w)
		}
		w.end()
		p.add(t, w.from, start, end, keep)
	})
	p.flush(t, run)
}

func (r *pairRun) reset() { r.pieces, r.bytes, r.end = r.pieces[:0], r.bytes[:0], -1 }

// read adds the characters of a token to the run. Each has its own place in the text, unless the
// token changed its length as its letters got their full width.
func (r *pairRun) read(t *Tokens, token string, start, end int, thai bool) {
	w := &t.word
	w.begin(t, token, kindWord)
	folded := w.runes()
	if !thai {
		foldWidth(w)
		lowercase(w)
		folded = w.runes()
	}
	t.terms = t.terms[:w.from]
	own := len(folded) == utf8.RuneCountInString(token)
	at := start
	table := classes9()
	for _, c := range folded {
		from := len(r.bytes)
		r.bytes = utf8.AppendRune(r.bytes, c)
		p := piece{int32(from), int32(len(r.bytes)), int32(start), int32(end)}
		if own {
			_, n := utf8.DecodeRuneInString(token[at-start:])
			p.start, p.end = int32(at), int32(at+n)
			at += n
		}
		if last := len(r.pieces) - 1; thai && last >= 0 && int(r.pieces[last].end) == int(p.start) &&
			table.of(c).extends() {
			r.pieces[last].to, r.pieces[last].end = p.to, p.end
			continue
		}
		r.pieces = append(r.pieces, p)
	}
	r.end = end
}

// flush makes terms of the run: pairs, or the one piece if there is no other.
func (p *bigrams) flush(t *Tokens, run *pairRun) {
	for i, second := range run.pieces {
		if i == 0 {
			if len(run.pieces) > 1 {
				continue
			}
		} else {
			second.from, second.start = run.pieces[i-1].from, run.pieces[i-1].start
		}
		from := len(t.terms)
		t.terms = append(t.terms, run.bytes[second.from:second.to]...)
		p.add(t, from, int(second.start), int(second.end), true)
	}
	run.reset()
}

// add ends a term, unless it is a stop word.
func (p *bigrams) add(t *Tokens, from, start, end int, keep bool) {
	if _, stopped := p.stop[string(t.terms[from:])]; stopped || !keep {
		t.terms = t.terms[:from]
		t.gap++
		return
	}
	t.add(from, start, end, t.gap+1)
	t.gap = 0
}

// halfKatakana are the Katakana of half width from U+FF65 on, in full width.
var halfKatakana = []rune("・ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン\u3099\u309A")

// foldWidth makes letters of half and full width what they usually are (CJKWidthFilter).
func foldWidth(w *word) bool {
	for _, c := range w.bytes() {
		if c >= utf8.RuneSelf {
			w.setRunes(foldedWidth(w.runes()))
			break
		}
	}
	return true
}

// foldedWidth replaces ASCII of full width and Katakana of half width, in place. A mark of voice
// after a Katakana of half width becomes one character with it, so the result may be shorter.
func foldedWidth(r []rune) []rune {
	out := r[:0]
	for _, c := range r {
		switch {
		case 0xFF01 <= c && c <= 0xFF5E:
			c -= 0xFEE0
		case 0xFF65 <= c && c <= 0xFF9F:
			if n := len(out); c >= 0xFF9E && n > 0 {
				if voiced := voicedKana(out[n-1], c == 0xFF9F); voiced != 0 {
					out[n-1] = voiced
					continue
				}
			}
			c = halfKatakana[c-0xFF65]
		}
		out = append(out, c)
	}
	return out
}

// voicedKana is a Katakana with the mark of voice, or with that of half voice; 0 if there is none.
func voicedKana(c rune, half bool) rune {
	switch {
	case 'ハ' <= c && c <= 'ホ' && (c-'ハ')%3 == 0:
		if half {
			return c + 2
		}
		return c + 1
	case half:
		return 0
	case 'カ' <= c && c <= 'ヂ' && (c-'カ')%2 == 0, c == 'ツ', c == 'テ', c == 'ト', c == 'ヽ':
		return c + 1
	case c == 'ウ':
		return 'ヴ'
	case 'ワ' <= c && c <= 'ヲ':
		return c - 'ワ' + 'ヷ'
	}
	return 0
}

// analyzer makes terms of pairs of characters. Folding widths and cases concerns letters, so that
// parts of terms in queries get it as well.
func (p *bigrams) analyzer(d Dialect) *Analyzer {
	a := words(d)
	a.whole = p.analyze
	a.normal = []step{foldWidth, lowercase}
	return a
}

func cjkAnalyzer(d Dialect, set stopSet) *Analyzer {
	return (&bigrams{stop: set.or("cjk"), steps: []step{foldWidth, lowercase}}).analyzer(d)
}

func japaneseAnalyzer(d Dialect, set stopSet) *Analyzer {
	return (&bigrams{stop: set, steps: []step{foldWidth, lowercase}}).analyzer(d)
}

func chineseAnalyzer(d Dialect, set stopSet) *Analyzer {
	return (&bigrams{stop: set, steps: []step{foldWidth, lowercase, porter}}).analyzer(d)
}

func thaiAnalyzer(d Dialect, set stopSet) *Analyzer {
	a := (&bigrams{thai: true, steps: []step{lowercase, stop(set)}}).analyzer(d)
	a.normal = []step{lowercase}
	return a
}
