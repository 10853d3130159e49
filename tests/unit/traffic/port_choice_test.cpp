// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/port_choice.h"

#include <cstdio>
#include <fstream>

#include <gmock/gmock.h>
#include <unistd.h>

namespace bondtrace::traffic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<PortChoice> parse(std::string_view text) {
    return parse_port_choice(text, [](const std::string& path) -> Result<std::string> {
        if (path == "ports.txt")
            return std::string("# of last Monday\n40000,40002\n\n50000-50002 # and three\n");
        if (path == "bad.txt") return std::string("40000\nforty\n");
        return fail(ErrorKind::unavailable, "no file " + path);
    });
}

std::string complaint(std::string_view text) {
    const auto choice = parse(text);
    if (choice) return "accepted";
    EXPECT_EQ(choice.error().kind, ErrorKind::usage) << text;
    return choice.error().what + " | " + choice.error().advice;
}

TEST(PortChoice, ReadsTheWords) {
    EXPECT_EQ(parse("kernel")->pattern, PortPattern::kernel);
    EXPECT_EQ(parse("random")->pattern, PortPattern::random);
    EXPECT_EQ(parse("even")->pattern, PortPattern::even);
    EXPECT_EQ(parse("balanced")->pattern, PortPattern::balanced);
    EXPECT_EQ(parse("sequential")->pattern, PortPattern::sequential);
    EXPECT_EQ(parse("sequential")->step, 1);
    EXPECT_EQ(parse("sequential:4")->step, 4);
    EXPECT_EQ(parse("reach:eth1.7:x")->slave, "eth1.7:x");
    for (const char* text : {"kernel", "random", "even", "balanced", "sequential", "sequential:4", "reach:a"})
        EXPECT_EQ(to_text(*parse(text)), text);
}

TEST(PortChoice, ReadsListsAndFiles) {
    EXPECT_THAT(parse("40000")->list, ElementsAre(40000));
    EXPECT_THAT(parse("40001,40000 7")->list, ElementsAre(40001, 40000, 7));
    EXPECT_THAT(parse("40000-40003,65535")->list, ElementsAre(40000, 40001, 40002, 40003, 65535));
    EXPECT_THAT(parse("40000-40009:4")->list, ElementsAre(40000, 40004, 40008));
    EXPECT_THAT(parse("65534-65535:2")->list, ElementsAre(65534)); // the step leads beyond the last port
    EXPECT_THAT(parse("ports.txt")->list, ElementsAre(40000, 40002, 50000, 50001, 50002));
    EXPECT_EQ(to_text(*parse("7,9")), "2 ports listed");
}

TEST(PortChoice, SaysWhatIsWrong) {
    EXPECT_THAT(complaint(""), HasSubstr("random, sequential"));
    EXPECT_THAT(complaint("odd"), HasSubstr("no file odd"));
    EXPECT_THAT(complaint("odd"), HasSubstr("random, sequential"));
    EXPECT_THAT(complaint("sequential:0"), HasSubstr("\"0\" is no step"));
    EXPECT_THAT(complaint("sequential:x"), HasSubstr("\"x\" is no step"));
    EXPECT_THAT(complaint("reach:"), HasSubstr("name of a slave"));
    EXPECT_THAT(complaint("0"), HasSubstr("\"0\" is no port"));
    EXPECT_THAT(complaint("65536"), HasSubstr("\"65536\""));
    EXPECT_THAT(complaint("5-4"), HasSubstr("\"5-4\""));
    EXPECT_THAT(complaint("5-6:0"), HasSubstr("\"5-6:0\""));
    EXPECT_THAT(complaint("5:6"), HasSubstr("\"5:6\""));
    EXPECT_THAT(complaint("5:1-6"), HasSubstr("\"5:1-6\""));
    EXPECT_THAT(complaint("5-"), HasSubstr("\"5-\""));
    EXPECT_THAT(complaint("1,2,1"), HasSubstr("port 1 stands there twice"));
    EXPECT_THAT(complaint("1-9,5"), HasSubstr("port 5 stands there twice"));
    EXPECT_THAT(complaint("bad.txt"), HasSubstr("--ports bad.txt: line 2: \"forty\""));
    EXPECT_THAT(complaint("1,\x1b[31m"), testing::Not(HasSubstr("\x1b")));
    EXPECT_THAT(parse_port_list("# nothing\n", "f").error().what, HasSubstr("no port"));
}

TEST(PortChoice, ReadsFilesWithinReason) {
    const std::string path = "/tmp/bondtrace-ports-" + std::to_string(getpid());
    std::ofstream(path) << "1\n2\n";
    EXPECT_EQ(read_port_file(path).value(), "1\n2\n");
    std::ofstream(path) << std::string((1U << 20U) + 1, ' ');
    EXPECT_THAT(read_port_file(path).error().what, HasSubstr("1 MiB"));
    std::remove(path.c_str());
    EXPECT_THAT(read_port_file(path).error().what, HasSubstr("ENOENT"));
    EXPECT_EQ(read_port_file("/tmp").error().kind, ErrorKind::usage); // a directory
}

TEST(AddressList, ReadsAndComplains) {
    EXPECT_THAT(parse_address_list("--sources", "10.0.0.1,fd00::1").value(),
                ElementsAre(*parse_ip("10.0.0.1"), *parse_ip("fd00::1")));
    EXPECT_THAT(parse_address_list("--sources", "10.0.0.1,").error().what, HasSubstr("--sources: \"\""));
    EXPECT_THAT(parse_address_list("--sources", "eth0").error().what, HasSubstr("\"eth0\" is no IP address"));
    EXPECT_THAT(parse_address_list("--sources", "fd00::1,fd00:0::1").error().what, HasSubstr("twice"));
}

} // namespace
} // namespace bondtrace::traffic
