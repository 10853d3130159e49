// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/kernel/support/namespace.h"

#include <cerrno>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

namespace bondtrace::test {

std::vector<std::string> words(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> result;
    for (std::string word; stream >> word;)
        result.push_back(word);
    return result;
}

namespace {

// Mounts /sys on a thread that is in `netns` and has a mount namespace of its own; the descriptor keeps both
// alive.
Result<Fd> open_class_net(const NetNs& netns) {
    return run_in(netns, []() -> Result<Fd> {
        if (::unshare(CLONE_NEWNS) != 0 || ::mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("sysfs", "/sys", "sysfs", 0, nullptr) != 0)
            return fail_errno(errno, "mounting the namespace's /sys");
        Fd directory(::open("/sys/class/net", O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!directory.valid()) return fail_errno(errno, "opening the namespace's /sys/class/net");
        return directory;
    });
}

} // namespace

Namespace::Namespace(const std::string& hint) {
    static int count = 0;
    name_ = fmt::format("bt-{}-{}-{}", hint, ::getpid(), ++count);
    EXPECT_TRUE(run({"ip", "netns", "add", name_}));
    auto class_net = open_class_net(open());
    EXPECT_TRUE(class_net) << class_net.error().what;
    if (class_net) class_net_ = std::move(*class_net);
    // `default` comes before the interfaces do. Without IPv6 in the kernel there is nothing to switch off.
    (void)exec({"sysctl", "-qe", "-w", "net.ipv6.conf.default.disable_ipv6=1"});
}

Namespace::~Namespace() {
    EXPECT_TRUE(run({"ip", "netns", "delete", name_}));
}

NetNs Namespace::open() const {
    auto netns = NetNs::open(name_);
    if (netns) return *netns;
    ADD_FAILURE() << netns.error().what;
    return NetNs::current().value();
}

testing::AssertionResult Namespace::ip(const std::string& arguments) const {
    std::vector<std::string> argv = {"ip", "-n", name_};
    for (std::string& word : words(arguments))
        argv.push_back(std::move(word));
    return run(argv);
}

testing::AssertionResult Namespace::ip_batch(const std::string& commands,
                                             std::chrono::milliseconds timeout) const {
    std::string path = testing::TempDir() + "ip-batch-XXXXXX";
    const Fd file(::mkostemp(path.data(), O_CLOEXEC));
    if (!file.valid() ||
        ::write(file.get(), commands.data(), commands.size()) != static_cast<ssize_t>(commands.size()))
        return testing::AssertionFailure() << "cannot write " << path;
    auto result = run({"ip", "-n", name_, "-batch", path}, timeout);
    ::unlink(path.c_str());
    return result;
}

Output Namespace::exec(const std::vector<std::string>& argv) const {
    std::vector<std::string> inside = {"ip", "netns", "exec", name_};
    inside.insert(inside.end(), argv.begin(), argv.end());
    return capture(inside);
}

std::string Namespace::sys(const std::string& interface, const std::string& file) const {
    const std::string path = interface + "/" + file;
    const Fd opened(::openat(class_net_.get(), path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text(65536, '\0');
    const ssize_t length = opened.valid() ? ::read(opened.get(), text.data(), text.size()) : -1;
    EXPECT_GE(length, 0) << "reading /sys/class/net/" << path << ": " << errno_text(errno);
    text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    if (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

} // namespace bondtrace::test
