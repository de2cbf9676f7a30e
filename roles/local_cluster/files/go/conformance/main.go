// The conformance suite of the Gateway API inference extension as a program. It takes the flags of the suite and those of `go test`, such as -test.v.
package main

import (
	"bytes"
	"io/fs"
	"regexp"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/gateway-api-inference-extension/conformance"
)

// Suite 1.6.0 is made for Gateway API 1.6.1, which go.mod therefore requires. With 1.6.3 it ends without a report.
//
// The manifests of 1.6.0 use an endpoint picker that fails with proxies in full-duplex mode (see lwepp/main.go). Upstream's 1.6.2 uses that of 1.6.1.
const brokenImage, fixedImage = "registry.k8s.io/gateway-api-inference-extension/lwepp:v1.6.0", "registry.k8s.io/gateway-api-inference-extension/lwepp:v1.6.1"

// manifests returns the manifests of the suite, with the fixed endpoint picker.
func manifests() (fstest.MapFS, error) {
	files := fstest.MapFS{}
	return files, fs.WalkDir(conformance.Manifests, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := conformance.Manifests.ReadFile(path)
		files[path] = &fstest.MapFile{Data: bytes.ReplaceAll(text, []byte(brokenImage), []byte(fixedImage))}
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
	t.Logf("The manifests use the endpoint picker %s instead of %s", fixedImage, brokenImage)
	conformance.RunConformanceWithOptions(t, options)
}

func main() {
	suite := []testing.InternalTest{{Name: "Conformance", F: run}}
	testing.Main(func(pattern, name string) (bool, error) { return regexp.MatchString(pattern, name) }, suite, nil, nil)
}
