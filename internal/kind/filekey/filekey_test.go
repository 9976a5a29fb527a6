package filekey_test

import (
	"testing"

	"fettle.dev/fettle/internal/kind/filekey"
	"fettle.dev/fettle/internal/kind/kindtest"
)

func TestGolden(t *testing.T) {
	kindtest.Documented(t, filekey.Kinds())
	kindtest.Run(t, kindtest.Options{Kinds: filekey.Kinds()})
}
