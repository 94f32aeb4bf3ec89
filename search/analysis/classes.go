package analysis

import (
	"sync"
	"unicode"
)

// class is the class of a character in the rules that find words (Unicode Standard Annex 29, with
// what Lucene's StandardTokenizer adds for scripts without spaces).
type class uint8

const (
	other class = iota
	letter
	hebrew
	hangul // a letter, too; it only gives the token its kind
	numeric
	katakana
	joiner  // ExtendNumLet: the underscore and its like
	extend  // belongs to the character before it: marks, formats, joiners
	zwj     // the same, and joins emoji
	present // the same: presentation selectors of emoji
	midLetter
	midNum
	midBoth
	singleQuote
	doubleQuote
	han
	hiragana
	complexContext // Thai, Lao, Khmer, Myanmar: runs are one token
	complexMark    // their marks, which also belong to a character before them
	regional       // half of a flag
	emoji
	emojiBase     // an emoji that a skin colour may follow
	emojiModifier // a skin colour
	keyBase       // with a digit, what a keycap may follow
)

// asciiClasses are the classes of the first characters, where most of a text is.
var asciiClasses = func() (table [128]class) {
	for c := range table {
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			table[c] = letter
		case '0' <= c && c <= '9':
			table[c] = numeric
		}
	}
	table['_'] = joiner
	table[':'] = midLetter
	table[','], table[';'] = midNum, midNum
	table['.'] = midBoth
	table['\''] = singleQuote
	table['"'] = doubleQuote
	table['#'], table['*'] = keyBase, keyBase
	return table
}()

// classTable has a page of classes for each 256 characters; equal pages of one class are shared.
type classTable struct {
	pages [0x1100]*[256]class
}

// of is the class of a character; a byte that is no character is other.
func (t *classTable) of(r rune) class {
	if uint32(r) >= 0x110000 {
		return other
	}
	return t.pages[r>>8][r&0xFF]
}

// set gives characters their class. Pages of 256 that have one class are shared: most of Unicode is
// that.
func (t *classTable) set(lo, hi, stride rune, c class, shared map[class]*[256]class) {
	for r := lo; r <= hi; {
		if stride == 1 && r&0xFF == 0 && r+0xFF <= hi {
			// A whole page.
			page := shared[c]
			if page == nil {
				page = new([256]class)
				for i := range page {
					page[i] = c
				}
				shared[c] = page
			}
			t.pages[r>>8] = page
			r += 0x100
			continue
		}
		page := t.pages[r>>8]
		if page == shared[page[0]] {
			// Shared by other characters: its own copy first.
			own := *page
			page = &own
			t.pages[r>>8] = page
		}
		page[r&0xFF] = c
		r += stride
	}
}

// classes is the table of all characters. It is made from Unicode's categories, scripts and
// properties as package unicode has them: the annex defines its classes by them, with the
// exceptions that are named here.
func classes(modern bool) *classTable {
	t, shared := &classTable{}, map[class]*[256]class{}
	shared[other] = new([256]class)
	for i := range t.pages {
		t.pages[i] = shared[other]
	}
	set := func(c class, tables ...*unicode.RangeTable) {
		for _, table := range tables {
			for _, r := range table.R16 {
				t.set(rune(r.Lo), rune(r.Hi), rune(r.Stride), c, shared)
			}
			for _, r := range table.R32 {
				t.set(rune(r.Lo), rune(r.Hi), rune(r.Stride), c, shared)
			}
		}
	}
	between := func(c class, pairs ...rune) {
		for i := 0; i < len(pairs); i += 2 {
			t.set(pairs[i], pairs[i+1], 1, c, shared)
		}
	}
	one := func(c class, runes string) {
		for _, r := range runes {
			t.set(r, r, 1, c, shared)
		}
	}
	// Later lines win over earlier ones.
	set(letter, unicode.L, unicode.Nl, unicode.Other_Alphabetic)
	if modern {
		// Word-forming symbols, letters since Unicode 11.
		between(letter, 0x2C2, 0x2C5, 0x2D2, 0x2D7, 0x2DE, 0x2DF, 0x2E5, 0x2EB, 0x2ED, 0x2ED, 0x2EF, 0x2FF,
			0x55A, 0x55C,
			0x55E, 0x55E, 0x58A, 0x58A, 0xA708, 0xA716, 0xA720, 0xA721, 0xA789, 0xA78A, 0xAB5B, 0xAB5B)
	}
	one(letter, "\u05F3")
	between(letter, 0x24B6, 0x24E9)
	set(numeric, unicode.Nd)
	set(other, unicode.Ideographic)
	set(han, unicode.Han)
	one(letter, "々〻")
	one(numeric, "\u066B")
	set(hiragana, unicode.Hiragana)
	set(katakana, unicode.Katakana)
	one(katakana, "〱〲〳〴〵゛゜゠ーｰ")
	for _, r := range unicode.Hangul.R16 {
		for c := rune(r.Lo); c <= rune(r.Hi); c++ {
			if t.of(c) == letter {
				t.set(c, c, 1, hangul, shared)
			}
		}
	}
	for _, r := range unicode.Hebrew.R16 {
		for c := rune(r.Lo); c <= rune(r.Hi); c++ {
			if unicode.Is(unicode.Lo, c) {
				t.set(c, c, 1, hebrew, shared)
			}
		}
	}
	set(extend, unicode.Me, unicode.Mn, unicode.Mc, unicode.Other_Grapheme_Extend, unicode.Cf)
	one(other, "\u200B")
	for i := 0; i < len(complexScripts); i += 2 {
		for c := complexScripts[i]; c <= complexScripts[i+1]; c++ {
			if unicode.Is(unicode.M, c) {
				t.set(c, c, 1, complexMark, shared)
			} else {
				t.set(c, c, 1, complexContext, shared)
			}
		}
	}
	set(joiner, unicode.Pc)
	if modern {
		one(joiner, "\u202F")
	}
	one(midLetter, ":\u00B7\u0387\u05F4\u2027\uFE13\uFE55\uFF1A")
	one(midNum, ",;\u037E\u0589\u060C\u060D\u066C\u07F8\u2044\uFE10\uFE14\uFE50\uFE54\uFF0C\uFF1B")
	one(midBoth, ".\u2018\u2019\u2024\uFE52\uFF07\uFF0E")
	one(singleQuote, "'")
	one(doubleQuote, "\"")
	for i := 0; i < len(pictographs); i += 2 {
		for c := pictographs[i]; c <= pictographs[i+1]; c++ {
			if t.of(c) == other {
				t.set(c, c, 1, emoji, shared)
			}
		}
	}
	between(emojiBase, modifierBases...)
	between(emojiModifier, 0x1F3FB, 0x1F3FF)
	between(regional, 0x1F1E6, 0x1F1FF)
	one(zwj, "\u200D")
	one(present, "\uFE0E\uFE0F")
	return t
}

// classes46 and classes9 are the tables of the two generations.
var (
	classes46 = sync.OnceValue(func() *classTable { return classes(false) })
	classes9  = sync.OnceValue(func() *classTable { return classes(true) })
)

// complexScripts are the scripts of South East Asia (Line_Break=Complex_Context), as pairs of first
// and last.
var complexScripts = []rune{
	0x0E01, 0x0E3A, 0x0E40, 0x0E4E, 0x0E81, 0x0EBD, 0x0EC0, 0x0EC4, 0x0EC6, 0x0EC6, 0x0EC8, 0x0ECE, 0x0EDC, 0x0EDF,
	0x1000, 0x103F, 0x1050, 0x108F, 0x109A, 0x109F, 0x1780, 0x17D3, 0x17D7, 0x17D7, 0x17DC, 0x17DD, 0x1950, 0x1974,
	0x1980, 0x19C9, 0x19DA, 0x19DA, 0x19DE, 0x19DF, 0x1A20, 0x1A7C, 0x1AA0, 0x1AAD, 0xA9E0, 0xA9EF, 0xA9FA, 0xA9FE,
	0xAA60, 0xAAC2, 0xAADB, 0xAADF, 0x11700, 0x1172B, 0x1173A, 0x1173B, 0x1173F, 0x1173F,
}

// pictographs are Unicode's Extended_Pictographic, as pairs of first and last. Those that are
// letters too stay so.
var pictographs = []rune{
	0xA9, 0xA9, 0xAE, 0xAE, 0x203C, 0x203C, 0x2049, 0x2049, 0x2122, 0x2122, 0x2139, 0x2139, 0x2194, 0x2199, 0x21A9,
	0x21AA, 0x231A, 0x231B, 0x2328, 0x2328, 0x2388, 0x2388, 0x23CF, 0x23CF, 0x23E9, 0x23F3, 0x23F8, 0x23FA, 0x24C2,
	0x24C2, 0x25AA, 0x25AB, 0x25B6, 0x25B6, 0x25C0, 0x25C0, 0x25FB, 0x25FE, 0x2600, 0x2605, 0x2607, 0x2612, 0x2614,
	0x2685, 0x2690, 0x2705, 0x2708, 0x2712, 0x2714, 0x2714, 0x2716, 0x2716, 0x271D, 0x271D, 0x2721, 0x2721, 0x2728,
	0x2728, 0x2733, 0x2734, 0x2744, 0x2744, 0x2747, 0x2747, 0x274C, 0x274C, 0x274E, 0x274E, 0x2753, 0x2755, 0x2757,
	0x2757, 0x2763, 0x2767, 0x2795, 0x2797, 0x27A1, 0x27A1, 0x27B0, 0x27B0, 0x27BF, 0x27BF, 0x2934, 0x2935, 0x2B05,
	0x2B07, 0x2B1B, 0x2B1C, 0x2B50, 0x2B50, 0x2B55, 0x2B55, 0x3030, 0x3030, 0x303D, 0x303D, 0x3297, 0x3297, 0x3299,
	0x3299, 0x1F000, 0x1F0FF, 0x1F10D, 0x1F10F, 0x1F12F, 0x1F12F, 0x1F16C, 0x1F171, 0x1F17E, 0x1F17F, 0x1F18E, 0x1F18E,
	0x1F191, 0x1F19A, 0x1F1AD, 0x1F1E5, 0x1F201, 0x1F20F, 0x1F21A, 0x1F21A, 0x1F22F, 0x1F22F, 0x1F232, 0x1F23A,
	0x1F23C, 0x1F23F, 0x1F249, 0x1F3FA, 0x1F400, 0x1F53D, 0x1F546, 0x1F64F, 0x1F680, 0x1F6FF, 0x1F774, 0x1F77F,
	0x1F7D5, 0x1F7FF, 0x1F80C, 0x1F80F, 0x1F848, 0x1F84F, 0x1F85A, 0x1F85F, 0x1F888, 0x1F88F, 0x1F8AE, 0x1F8FF,
	0x1F90C, 0x1F93A, 0x1F93C, 0x1F945, 0x1F947, 0x1FAFF, 0x1FC00, 0x1FFFD,
}

// modifierBases are the pictographs that a skin colour may follow (Emoji_Modifier_Base).
var modifierBases = []rune{
	0x261D, 0x261D, 0x26F9, 0x26F9, 0x270A, 0x270D, 0x1F385, 0x1F385, 0x1F3C2, 0x1F3C4, 0x1F3C7, 0x1F3C7, 0x1F3CA,
	0x1F3CC, 0x1F442, 0x1F443, 0x1F446, 0x1F450, 0x1F466, 0x1F478, 0x1F47C, 0x1F47C, 0x1F481, 0x1F483, 0x1F485,
	0x1F487, 0x1F48F, 0x1F48F, 0x1F491, 0x1F491, 0x1F4AA, 0x1F4AA, 0x1F574, 0x1F575, 0x1F57A, 0x1F57A, 0x1F590,
	0x1F590, 0x1F595, 0x1F596, 0x1F645, 0x1F647, 0x1F64B, 0x1F64F, 0x1F6A3, 0x1F6A3, 0x1F6B4, 0x1F6B6, 0x1F6C0,
	0x1F6C0, 0x1F6CC, 0x1F6CC, 0x1F90C, 0x1F90C, 0x1F90F, 0x1F90F, 0x1F918, 0x1F91F, 0x1F926, 0x1F926, 0x1F930,
	0x1F939, 0x1F93C, 0x1F93E, 0x1F977, 0x1F977, 0x1F9B5, 0x1F9B6, 0x1F9B8, 0x1F9B9, 0x1F9BB, 0x1F9BB, 0x1F9CD,
	0x1F9CF, 0x1F9D1, 0x1F9DD, 0x1FAC3, 0x1FAC5, 0x1FAF0, 0x1FAF6,
}
