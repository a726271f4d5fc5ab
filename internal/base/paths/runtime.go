package paths

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
)

// maxSocket keeps socket paths below the 104 bytes of macOS and the 108 of
// Linux, with room for the final NUL.
const maxSocket = 100

// Socket returns the path of the socket called name (for instance
// "approve.sock") and makes the private directory that it lies in. A path that
// would be too long becomes a hashed name in /tmp/kx-<uid>.
func (d Dirs) Socket(name string) (string, error) {
	dir, path := d.Runtime, filepath.Join(d.Runtime, name)
	if len(path) > maxSocket {
		sum := sha256.Sum256([]byte(path))
		dir = fallbackRuntime(d.UID)
		path = filepath.Join(dir, hex.EncodeToString(sum[:8])+".sock")
	}
	if err := EnsurePrivate(dir, d.UID); err != nil {
		return "", err
	}
	return path, nil
}

// EnsurePrivate makes dir, or refuses one that others could have prepared: it
// has to be a real directory, owned by uid, with mode 0700.
func EnsurePrivate(dir string, uid int) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return noRuntime(dir, err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return noRuntime(dir, err)
	}
	fi, err := os.Lstat(dir)
	switch {
	case err != nil:
		return noRuntime(dir, err)
	case fi.Mode()&fs.ModeSymlink != 0:
		return refused(dir, "it is a symlink").WithHint("rm %s", dir)
	case !fi.IsDir():
		return refused(dir, "it is not a directory").WithHint("rm %s", dir)
	case fsx.Owner(fi) != uid:
		return refused(dir, "it belongs to another user").WithHint("export KX_RUNTIME_DIR=$HOME/.kx-run")
	case fi.Mode().Perm() != 0o700:
		return refused(dir, "its mode is not 0700").WithHint("chmod 700 %s", dir)
	}
	return nil
}

func noRuntime(dir string, err error) error {
	return fail.Unavailable("runtime_dir", "the directory %s for sockets can't be made: %v", dir, fsx.Reason(err)).
		WithHint("export KX_RUNTIME_DIR=$HOME/.kx-run").Because(err)
}

func refused(dir, why string) *fail.Error {
	return fail.Denied("runtime_dir", "the directory %s is not safe for sockets: %s", dir, why)
}
