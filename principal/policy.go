package principal

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/patterns"
)

// Policy is what new passwords must match (setting password_regexp). The zero Policy accepts all.
type Policy struct {
	requirements []requirement
	broken       bool
}

type requirement struct {
	pattern *patterns.Pattern
	refusal *compat.Error
}

const notConforming = "Password does not conform to requirements."

// ParsePolicy reads the setting: an Erlang list of regular expressions, or of tuples of one and
// what to tell those who fail it (couch_users_db:validate_password). One that cannot be read
// refuses every new password.
func ParsePolicy(setting string) Policy {
	if setting == "" || setting == "[]" {
		return Policy{}
	}
	list, ok := parseTerm(setting)
	if !ok || list.kind != '[' {
		return Policy{broken: true}
	}
	var p Policy
	var budget patterns.Budget
	for _, item := range list.items {
		reason := notConforming
		expression := item
		if item.kind == '{' && (len(item.items) == 1 || len(item.items) == 2) {
			expression = item.items[0]
			if len(item.items) == 2 && item.items[1].kind == '"' && item.items[1].text != "" {
				reason += " " + item.items[1].text
			}
		}
		pattern, err := budget.Compile(expression.text)
		if expression.kind != '"' || err != nil {
			return Policy{broken: true}
		}
		p.requirements = append(p.requirements, requirement{pattern, compat.NewError(compat.KindBadRequest, reason)})
	}
	return p
}

// check gives the refusal of the first requirement that a password does not meet.
func (p *Policy) check(password string) error {
	if p.broken {
		return errCannotHash
	}
	for _, r := range p.requirements {
		if !r.pattern.Match([]byte(password)) {
			return r.refusal
		}
	}
	return nil
}
