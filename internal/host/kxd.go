package host

import (
	"os"
	"path/filepath"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/base/paths"
)

// Kxd finds the kxd program: beside kx itself, or where KX_KXD says, if that
// names a program that nobody else could have put there. workspaces are folders
// in which an agent may write.
func Kxd(override string, workspaces []string) (string, error) {
	if override != "" {
		return checkProgram(override, workspaces)
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	kxd := filepath.Join(filepath.Dir(self), "kxd")
	if _, err := os.Stat(kxd); err != nil {
		return "", fail.Unavailable("no_kxd", "kxd is not beside kx: %s", kxd).WithHint("kx doctor")
	}
	return kxd, nil
}

// checkProgram returns the file that path leads to: a link on the way could lead
// elsewhere once it is started.
func checkProgram(path string, workspaces []string) (string, error) {
	refuse := func(why string) (string, error) {
		return "", fail.Denied("kxd_refused", "KX_KXD=%s is refused: %s", path, why).WithHint("unset KX_KXD")
	}
	if !filepath.IsAbs(path) {
		return refuse("it is not an absolute path")
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return refuse(fsx.Reason(err).Error())
	}
	fi, err := os.Lstat(real)
	if err != nil || !fi.Mode().IsRegular() {
		return refuse("it is not a regular file")
	}
	if uid := fsx.Owner(fi); uid != 0 && uid != os.Getuid() {
		return refuse("it belongs to somebody else")
	}
	if fi.Mode().Perm()&0o022 != 0 {
		return refuse("others can write it")
	}
	for _, ws := range workspaces {
		if paths.Inside(ws, real) || paths.Inside(ws, filepath.Clean(path)) {
			return refuse("it lies in a workspace")
		}
	}
	return real, nil
}
