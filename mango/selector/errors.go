package selector

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// The errors of selectors are compat.Errors of status 400 with Mango's own error words and reasons
// (mango_error:info/2).

// ErrBadArg is for an operator with an argument that it does not take.
func ErrBadArg(op string, arg ejson.Value) error {
	return compat.Named(compat.KindBadRequest, "bad_arg", "Bad argument for operator "+op+": "+compat.RawTerm(arg))
}

func errUnsupported(op string) error {
	return compat.Named(compat.KindBadRequest, "not_supported", "Unsupported operator: "+op)
}

func errInvalidOperator(op string) error {
	return compat.Named(compat.KindBadRequest, "invalid_operator", "Invalid operator: "+op)
}

// errBadField is for a $text below a field, or a $default from outside.
func errBadField(c *Condition) error {
	return compat.Named(compat.KindBadRequest, "bad_field",
		"Invalid field normalization on selector: "+string(c.appendTerm(nil)))
}

// errNegatedText is for a $text below a negation.
func errNegatedText(c *Condition) error {
	return compat.Named(compat.KindBadRequest, "bad_arg", "Bad argument for operator $not: "+string(c.appendTerm(nil)))
}

// ErrInvalidFieldName is for a name that is no path, such as "a..b".
func ErrInvalidFieldName(name string) error {
	return compat.Named(compat.KindBadRequest, "invalid_field_name", "Invalid field name: "+name)
}

var (
	errMissingFieldName = compat.Named(compat.KindBadRequest, "invalid_selector",
		"One or more conditions is missing a field name.")
	errTooDeep = compat.Named(compat.KindBadRequest, "invalid_selector", "The selector has too many levels.")
)
