package patch

import (
	"math"

	"github.com/settee-db/settee/compat/ejson"
)

// maxDigits is the length of the integers that are added to; none that a document may have is
// longer.
const maxDigits = 320

func isNumber(v ejson.Value) bool { return v.Kind() == ejson.Int || v.Kind() == ejson.Double }

// increment adds two numbers: integers exactly, others as doubles. ok is false if one is no number
// or the sum is beyond the doubles.
func increment(n, by ejson.Value) (sum ejson.Value, ok bool) {
	if !isNumber(n) || len(n.Raw()) > maxDigits || len(by.Raw()) > maxDigits {
		return sum, false
	}
	var text []byte
	if n.Kind() == ejson.Int && by.Kind() == ejson.Int {
		total := n.BigInt()
		text = total.Add(total, by.BigInt()).Append(nil, 10)
	} else {
		x, known := n.Float()
		y, alsoKnown := by.Float()
		if !known || !alsoKnown || math.IsInf(x+y, 0) {
			return sum, false
		}
		text = ejson.AppendFloat(nil, x+y)
	}
	sum, err := ejson.Parse(text)
	return sum, err == nil
}
