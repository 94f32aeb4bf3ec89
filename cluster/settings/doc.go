// Package settings keeps settings in a store that several processes have open, so that all have the
// same ones.
//
// # Keys, below storage.SettingsPrefix
//
//	()               counts changes, 8 bytes little-endian; what is watched
//	(section, key)   byte 1 and the value; byte 0: it was deleted, whatever files say
//
// # Map
//
//	settings.go   Settings: reads them at the start, follows changes, makes them
//	check.go      Check: what is stored can be read
//
// # Invariants
//
//  1. When Change returns, every process that is there has the change, and whoever comes later, or stood still
//     meanwhile, reads it before it serves anything (Settings.Current).
//  2. Of processes that make a new value of a key at the same time, all get the same one.
//  3. Below the prefix there are only keys that are described above.
package settings
