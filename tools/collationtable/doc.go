// Command collationtable makes root.bin, the table of package compat/collate, of FractionalUCA.txt:
// the root collation as ICU builds it.
//
//	go run ./tools/collationtable -in FractionalUCA.txt -out compat/collate/root.bin
//
// The file is part of CLDR (common/uca) and of ICU's source (source/data/unidata); the one used is
// ICU 72.1's. It names all characters with weights but for Hangul syllables, which are their Jamo,
// and ideographs, which it lists by radical and stroke; those get weights of three bytes here.
//
// The table is compressed with DEFLATE. In it, numbers are varints; see writer for the order of its
// sections.
package main
