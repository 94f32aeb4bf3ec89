package collate

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
)

// cldrEnv names the file of UCA's conformance test for this version of the root collation, if it is
// there: CLDR 42's common/uca/CollationTest_CLDR_NON_IGNORABLE_SHORT.txt, or ICU 72's
// source/test/testdata/CollationTest_NON_IGNORABLE_SHORT.txt.
const cldrEnv = "SETTEE_COLLATION_TEST"

// TestCLDROrder reads that file, else every 50th line of it: strings in order, of which neighbours
// may be equal. It expects normalised text.
func TestCLDROrder(t *testing.T) {
	name := os.Getenv(cldrEnv)
	if name == "" {
		name = "testdata/cldr42-sample.txt"
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var last []byte
	lines := 0
	for scan := bufio.NewScanner(f); scan.Scan(); {
		text, ok := cldrLine(scan.Text())
		if !ok {
			continue
		}
		if CompareStrings(last, text) > 0 {
			t.Errorf("%+q is not after %+q", text, last)
		}
		last = text
		lines++
	}
	if lines < 1000 {
		t.Errorf("%d lines", lines)
	}
}

// cldrLine reads `0061 0301;`. Lines with surrogates, which are no text, do not count.
func cldrLine(line string) (text []byte, ok bool) {
	line, _, _ = strings.Cut(line, ";")
	line, _, _ = strings.Cut(line, "#")
	for field := range strings.FieldsSeq(line) {
		c, err := strconv.ParseUint(field, 16, 32)
		if err != nil || c >= 0xd800 && c <= 0xdfff {
			return nil, false
		}
		text = append(text, string(rune(c))...)
	}
	return norm.NFD.Bytes(text), len(text) > 0
}
