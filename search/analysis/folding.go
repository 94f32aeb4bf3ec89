package analysis

import (
	"strings"
	"unicode/utf8"
)

// foldings are the letters that become ASCII, by what they become (ASCIIFoldingFilter). Capital
// letters are not among them, since folding comes after small letters.
const foldings = `
A ᴀ, AE ᴁ, B ʙᴃ, C ʗᴄ, D ᴅᴆ, E ᴇⱻ, F ꜰꟻ, G ǥǧɢʛ, H ʜ, I ɪᵻꟾ, J ᴊ, K ᴋ, L ʟᴌ, M ᴍꟽꟿ, N ɴᴎ, O ᴏᴐ, OE ɶ,
OU ᴕ, P ᴘ, R ʀʁᴙᴚ, S ꜱꞅ, T ᴛ, U ᴜᵾ, V ᴠ, W ᴡ, Y ʏ, Z ᴢ, a àáâãäåāăąǎǟǡǻȁȃȧɐəɚᶏᶕḁẚạảấầẩẫậắằẳẵặₐₔⱥａ,
aa ꜳ, ae æǣǽᴂ, ao ꜵ, au ꜷ, av ꜹꜻ, ay ꜽ, b ƀƃɓᵬᶀḃḅḇｂ, c çćĉċčƈȼɕḉↄꜿｃ, d ðďđƌȡɖɗᵭᶁᶑḋḍḏḑḓꝺｄ, db ȸ,
dz ǆǳʣʥ, e èéêëēĕėęěǝȅȇȩɇɘɛɜɝɞʚᴈᶒᶓᶔḕḗḙḛḝẹẻẽếềểễệₑⱸｅ, f ƒᵮᶂḟẛꝼｆ, ff ﬀ, ffi ﬃ, ffl ﬄ, fi ﬁ, fl ﬂ,
g ĝğġģǵɠɡᵷᵹᶃḡꝿｇ, h ĥħȟɥɦʮʯḣḥḧḩḫẖⱨⱶｈ, hv ƕ, i ìíîïĩīĭįıǐȉȋɨᴉᵢᵼᶖḭḯỉịⁱｉ, ij ĳ, j ĵǰȷɉɟʄʝⱼｊ,
k ķƙǩʞᶄḱḳḵⱪꝁꝃꝅｋ, l ĺļľŀłƚȴɫɬɭᶅḷḹḻḽⱡꝇꝉꞁｌ, lj ǉ, ll ỻ, ls ʪ, lz ʫ, m ɯɰɱᵯᶆḿṁṃｍ, n ñńņňŉŋƞǹȵɲɳᵰᶇṅṇṉṋⁿｎ,
nj ǌ, o òóôõöøōŏőơǒǫǭǿȍȏȫȭȯȱɔɵᴖᴗᶗṍṏṑṓọỏốồổỗộớờởỡợₒⱺꝋꝍｏ, oe œᴔ, oo ꝏ, ou ȣ, p ƥᵱᵽᶈṕṗꝑꝓꝕꟼｐ, q ĸɋʠꝗꝙｑ,
qp ȹ, r ŕŗřȑȓɍɼɽɾɿᵣᵲᵳᶉṙṛṝṟꝛꞃｒ, s śŝşšſșȿʂᵴᶊṡṣṥṧṩẜẝｓ, ss ß, st ﬆ, t ţťŧƫƭțȶʇʈᵵṫṭṯṱẗⱦｔ, tc ʨ, th þᵺꝧ,
ts ʦ, tz ꜩ, u ùúûüũūŭůűųưǔǖǘǚǜȕȗʉᵤᶙṳṵṷṹṻụủứừửữựｕ, ue ᵫ, v ʋʌᵥᶌṽṿⱱⱴꝟｖ, vy ꝡ, w ŵƿʍẁẃẅẇẉẘⱳｗ, x ᶍẋẍₓｘ,
y ýÿŷƴȳɏʎẏẙỳỵỷỹỿｙ, z źżžƶȝȥɀʐʑᵶᶎẑẓẕⱬꝣｚ
`

var folded = func() map[rune]string {
	table := map[rune]string{}
	for entry := range strings.SplitSeq(foldings, ",") {
		ascii, letters, _ := strings.Cut(strings.TrimSpace(entry), " ")
		for _, r := range letters {
			table[r] = ascii
		}
	}
	return table
}()

// foldASCII replaces letters by the ASCII letters that they look like: é by e, ß by ss.
func foldASCII(w *word) bool {
	b := w.bytes()
	first := 0
	for first < len(b) && b[first] < utf8.RuneSelf {
		first++
	}
	if first == len(b) {
		return true
	}
	out := append(w.t.scratch[:0], b[:first]...)
	for b = b[first:]; len(b) > 0; {
		r, n := utf8.DecodeRune(b)
		if ascii, ok := folded[r]; ok {
			out = append(out, ascii...)
		} else {
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	w.t.scratch = out
	w.setBytes(out)
	return true
}

func asciiFoldingAnalyzer(Dialect, stopSet) *Analyzer {
	return &Analyzer{split: splitLetters, longest: 255, steps: []step{lowercase, foldASCII},
		normal: []step{lowercase, foldASCII}}
}
