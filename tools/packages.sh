# The Debian packages that trainfit needs, and how missing ones are installed. Sourced, not run.

# To build and run the product (./trainfit).
PRODUCT_PACKAGES="g++ cmake ninja-build nlohmann-json3-dev libyaml-cpp-dev
  libfmt-dev libexpected-dev"
# For ./test.
TEST_PACKAGES="$PRODUCT_PACKAGES python3 ccache libgtest-dev libgmock-dev librapidcheck-dev
  clang-format-19"
# For ./test --full and the programs under bench/.
FULL_PACKAGES="$TEST_PACKAGES clang-19 lld-19 llvm-19 clang-tidy-19 libclang-rt-19-dev
  libbenchmark-dev hyperfine"

# install_missing PACKAGE... : says on stderr what it installs; fails when it cannot.
install_missing() {
  # Another kind of system: its packages have other names, and CMake says what it lacks.
  command -v dpkg-query >/dev/null 2>&1 || return 0
  missing=
  for package in "$@"; do
    case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
      installed) ;;
      *) missing="$missing $package" ;;
    esac
  done
  [ -n "$missing" ] || return 0

  as_root=
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
      echo "trainfit needs these Debian packages; please install them as root:" >&2
      echo "  apt-get install --no-install-recommends$missing" >&2
      return 1
    fi
    as_root=sudo
  fi
  echo "trainfit: installing Debian packages${as_root:+ (with sudo)}:$missing" >&2
  log=$(mktemp)
  # The lists of a fresh machine are empty or old; without new ones the install fails.
  if { $as_root apt-get update &&
    $as_root env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1 </dev/null; then
    rm -f "$log"
    return 0
  fi
  tail -n 15 "$log" >&2
  rm -f "$log"
  echo "trainfit: apt-get could not install:$missing" >&2
  return 1
}
