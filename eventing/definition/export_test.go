package definition

import "encoding/json"

// What the documentation says of settings.

// Default is the default of a setting as JSON.
func (r *SettingRow) Default() string {
	usual := DefaultSettings()
	text, err := json.Marshal(r.field(&usual))
	if err != nil {
		panic(err) // plain values
	}
	return string(text)
}

// Changeable says in which states the setting may change.
func (r *SettingRow) Changeable() string {
	switch r.change {
	case whileDeployed:
		return "always"
	case whileUndeployed:
		return "undeployed"
	case byOperations:
		return "by operations"
	}
	return "undeployed, paused"
}

// WithoutUnknown makes a function what it is when it was stored and read again.
func (f *Function) WithoutUnknown() { f.unknown, f.Settings.unknown = nil, nil }
