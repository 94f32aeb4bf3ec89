package collate

// The first bytes of weights that are computed. tools/collationtable uses hanLead, too.
const (
	hanLead        = 0x7e
	unassignedLead = 0xe4
)

// Hangul syllables, which are three or two Jamo each.
const (
	hangulFirst, hangulLast = 0xac00, 0xd7a3
	jamoL, jamoV, jamoT     = 0x1100, 0x1161, 0x11a7
	jamoVCount, jamoTCount  = 21, 28
	jamoSyllablesPerL       = jamoVCount * jamoTCount
)

// firstContracted is the first character that a contraction may go on with: none does with an ASCII
// character.
const firstContracted = 0x80

// mapping is the mapping of a character alone, 0 if it has none.
func (t *table) mapping(c rune) mapping {
	return t.mappings[int(t.pages[c>>pageBits])<<pageBits|int(c&(pageSize-1))]
}

// elementsOf are the collation elements of a mapping, which is their place and number in the table.
func (t *table) elementsOf(m mapping) []element {
	first := int(m >> mappingShift & mappingIndex)
	return t.elements[first : first+int(m&mappingCount)]
}

// addAll adds the elements of a text. It changes the text where combining marks are taken out of
// order.
func (b *keyBuilder) addAll(text []rune) {
	t := b.t
	for i := 0; i < len(text); i++ {
		c := text[i]
		m := t.mapping(c)
		if m&mappingContracts != 0 && i+1 < len(text) && text[i+1] >= firstContracted {
			var length int
			m, length, text = t.contract(m, text, i)
			i += length - 1
		}
		switch {
		case m&mappingIdeograph != 0:
			b.add(element{hanPrimary(uint32(m &^ (mappingKnown | mappingIdeograph))), common, common})
		case m&mappingKnown != 0:
			b.addMapping(m)
		case c >= hangulFirst && c <= hangulLast:
			b.addSyllable(c - hangulFirst)
		default:
			b.add(element{unassignedPrimary(c), common, common})
		}
	}
}

func (b *keyBuilder) addMapping(m mapping) {
	for _, e := range b.t.elementsOf(m) {
		b.add(e)
	}
}

// addSyllable adds a Hangul syllable as the two or three jamo that it is composed of, by
// arithmetic: the table has no syllables.
func (b *keyBuilder) addSyllable(s rune) {
	b.addMapping(b.t.mapping(jamoL + s/jamoSyllablesPerL))
	b.addMapping(b.t.mapping(jamoV + s%jamoSyllablesPerL/jamoTCount))
	if last := s % jamoTCount; last != 0 {
		b.addMapping(b.t.mapping(jamoT + last))
	}
}

// hanPrimary is the weight of the n-th ideograph in their order.
func hanPrimary(n uint32) uint32 {
	return (hanLead+n/254/254)<<24 | (2+n/254%254)<<16 | (2+n%254)<<8
}

// unassignedPrimary is the weight of a character that is not in the table: such ones come in the
// order of their numbers.
func unassignedPrimary(c rune) uint32 {
	n := uint32(c)
	return unassignedLead<<24 + (2+n/254/254)<<16 | (2+n/254%254)<<8 | (2 + n%254)
}

// contract finds the longest contraction that begins at text[i], whose own mapping is m: first of
// adjoining characters, then with combining marks further on that nothing blocks (UTS 10, S2.1).
// Those marks are taken out of the text that is returned.
func (t *table) contract(m mapping, text []rune, i int) (found mapping, length int, rest []rune) {
	chars := [3]rune{text[i]}
	found, length = m, 1
	if pair, ok := t.contractions[contractionKey(text[i], text[i+1], 0)]; ok {
		found, length = pair, 2
	}
	if i+2 < len(text) {
		if triple, ok := t.contractions[contractionKey(text[i], text[i+1], text[i+2])]; ok {
			return triple, 3, text
		}
	}
	if length == 2 {
		chars[1] = text[i+1]
	}
	used := length
	next := i + length
	if next >= len(text) {
		return found, length, text
	}
	last := t.classes[text[next]]
	if last.first == 0 {
		return found, length, text
	}
	for k := next + 1; k < len(text) && used < len(chars); {
		class := t.classes[text[k]]
		if class.first == 0 {
			break
		}
		if last.last < class.first {
			chars[used] = text[k]
			if longer, ok := t.contractions[contractionKey(chars[0], chars[1], chars[2])]; ok {
				found = longer
				used++
				text = append(text[:k], text[k+1:]...)
				continue
			}
			chars[used] = 0
		}
		last = class
		k++
	}
	return found, length, text
}
