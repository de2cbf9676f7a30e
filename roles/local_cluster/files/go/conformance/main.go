// The conformance suite of the Gateway API inference extension as a program: its tests, with its flags and those of `go test` (such as -test.v).
package main

import (
	"bytes"
	"io/fs"
	"regexp"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/gateway-api-inference-extension/conformance"
)

// The suite of 1.6.0 is made for the Gateway API 1.6.1, which go.mod names for that reason: with 1.6.3 it ends without a report.
//
// The manifests of 1.6.0 name an endpoint picker that no proxy in full-duplex mode understands (see lwepp/main.go). Upstream's 1.6.2 names that of 1.6.1.
const broken, mended = "registry.k8s.io/gateway-api-inference-extension/lwepp:v1.6.0", "registry.k8s.io/gateway-api-inference-extension/lwepp:v1.6.1"

// manifests are the suite's own, with the endpoint picker that works.
func manifests() (fstest.MapFS, error) {
	files := fstest.MapFS{}
	return files, fs.WalkDir(conformance.Manifests, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := conformance.Manifests.ReadFile(path)
		files[path] = &fstest.MapFile{Data: bytes.ReplaceAll(text, []byte(broken), []byte(mended))}
		return err
	})
}

func run(t *testing.T) {
	options := conformance.DefaultOptions(t)
	files, err := manifests()
	if err != nil {
		t.Fatal(err)
	}
	options.ManifestFS = []fs.FS{files}
	t.Logf("The endpoint picker of its manifests is %s, in place of %s", mended, broken)
	conformance.RunConformanceWithOptions(t, options)
}

func main() {
	suite := []testing.InternalTest{{Name: "Conformance", F: run}}
	testing.Main(func(pattern, name string) (bool, error) { return regexp.MatchString(pattern, name) }, suite, nil, nil)
}
