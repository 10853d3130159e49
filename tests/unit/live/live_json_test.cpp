// SPDX-License-Identifier: GPL-2.0-or-later
// What is written, and that reading it again gives the same table.
#include "tests/unit/live/reading_builder.h"
#include "tests/unit/live/sample_model.h"
#include "user/live/live_json.h"
#include "user/live/live_text.h"
#include "user/live/replay.h"

#include <cstdio>
#include <fstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace bondtrace::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

std::string line_of(const LiveModel& model, std::uint64_t first_event = 0, std::size_t most = 1000) {
    FlowView view;
    view.rebuild(model, {});
    return live_json(model, view, 3, most, first_event);
}

TEST(LiveJson, IsOneLineWithRates) {
    LiveModel model;
    model.update(ReadingBuilder(0).sent(40001, s0, 10, 1000));
    model.update(ReadingBuilder(2).sent(40001, s0, 30, 5000, 0, 2));
    const std::string line = line_of(model);
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
    EXPECT_EQ(line.back(), '\n');
    const json document = json::parse(line);
    EXPECT_TRUE(line.starts_with(R"({"schema":"bondtrace.live/1","sequence":3,)"));
    EXPECT_EQ(document["interval_seconds"], 2.0);
    const json& flow = document["bonds"][0]["flows"][0];
    EXPECT_EQ(flow["local_port"], 40001);
    EXPECT_EQ(flow["tx_slave"], "s0");
    EXPECT_EQ(flow["rx_slave"], nullptr);
    EXPECT_EQ(flow["rate"]["tx_bits"], 8 * 2000.0);
    EXPECT_EQ(flow["tx"][0]["bytes"], 5000);
    EXPECT_EQ(document["bonds"][0]["slaves"][0]["rate"]["tx_packets"], 10.0);
    EXPECT_EQ(document["bonds"][0]["lacp_verdict"], "up");
}

TEST(LiveJson, IsWrittenAsATreeWouldBe) {
    const std::string line = line_of(sample_model());
    EXPECT_EQ(nlohmann::ordered_json::parse(line).dump() + "\n", line);
}

TEST(LiveJson, StopsWhenNobodyReads) {
    const LiveModel model = sample_model();
    FlowView view;
    view.rebuild(model, {});
    unsigned pieces = 0;
    EXPECT_FALSE(write_live_json(model, view, {}, [&](const std::string&) { return ++pieces < 1; }));
    EXPECT_EQ(pieces, 1U);
}

TEST(LiveJson, KeepsToItsLimits) {
    const LiveModel model = sample_model();
    EXPECT_EQ(json::parse(line_of(model, 0, 2))["bonds"][0]["flows"].size(), 2U);
    const std::uint64_t events = model.events().total();
    ASSERT_GE(events, 3U);
    EXPECT_EQ(json::parse(line_of(model))["events"].size(), events);
    EXPECT_EQ(json::parse(line_of(model, events - 1))["events"].size(), 1U);
}

TEST(LiveJson, NamesThatAreNoUtf8DoNotBreakIt) {
    LiveModel model;
    ReadingBuilder builder(0);
    builder.reading().report.bonds[0].name = "bo\xffnd\"\n";
    model.update(builder);
    EXPECT_TRUE(json::accept(line_of(model)));
}

TEST(Replay, ReadsWhatWasWritten) {
    const LiveModel model = sample_model();
    const std::string line = line_of(model);
    auto reading = parse_live_json(line);
    ASSERT_TRUE(reading) << reading.error().what;
    LiveModel again;
    again.update(std::move(*reading));
    EXPECT_EQ(again.reading().time_ns, model.reading().time_ns);
    EXPECT_EQ(again.reading().report.header.kernel, "6.1.0-57-amd64");
    EXPECT_EQ(again.lost(), model.lost());
    EXPECT_EQ(again.coverage(), model.coverage());
    ASSERT_EQ(again.flows().rows().size(), model.flows().rows().size());
    for (const FlowRow& row : model.flows().rows()) {
        bool found = false;
        for (const FlowRow& other : again.flows().rows())
            if (other.flow.key == row.flow.key) {
                found = true;
                EXPECT_EQ(other.flow.tx_total(), row.flow.tx_total()) << to_text(row.flow.key.remote);
                EXPECT_EQ(other.flow.rx_total(), row.flow.rx_total());
                EXPECT_EQ(other.tx_slave, row.tx_slave);
                EXPECT_EQ(other.rx_slave, row.rx_slave);
                EXPECT_EQ(other.flow.tx.size(), row.flow.tx.size());
                ASSERT_EQ(other.flow.prediction.has_value(), row.flow.prediction.has_value());
                EXPECT_EQ(other.flow.prediction->slave, row.flow.prediction->slave);
                EXPECT_EQ(other.flow.prediction->agrees, row.flow.prediction->agrees);
                EXPECT_EQ(other.flow.prediction->why, row.flow.prediction->why);
            }
        EXPECT_TRUE(found) << protocol_name(row.flow.key) << " " << to_text(row.flow.key.remote);
    }
    const Bond &is = again.reading().bonds[0].state, &was = model.reading().bonds[0].state;
    EXPECT_EQ(is.mode, was.mode);
    EXPECT_EQ(is.policy, was.policy);
    EXPECT_EQ(is.aggregator->partner_mac, was.aggregator->partner_mac);
    EXPECT_EQ(is.slaves[0].mii_status, MiiStatus::down);
    EXPECT_EQ(is.slaves[1].actor_port_state, 0x3f);
    EXPECT_EQ(again.bonds()[0].lacp.word, model.bonds()[0].lacp.word);
    EXPECT_EQ(again.bonds()[0].slaves[0].errors, 4U);
    EXPECT_EQ(again.reading().report.bonds[0].netns, "bt-a");
}

TEST(Replay, GivesRatesAndEventsFromLineToLine) {
    LiveModel model, again;
    for (const double at : {0.0, 1.0, 2.0}) {
        ReadingBuilder builder(at);
        builder.sent(1, s0, 10 + static_cast<std::uint64_t>(at) * 10,
                     1000 + static_cast<std::uint64_t>(at) * 1000, 0, at);
        if (at == 2) builder.down(s1);
        model.update(builder);
        auto reading = parse_live_json(line_of(model));
        ASSERT_TRUE(reading) << reading.error().what;
        again.update(std::move(*reading));
    }
    EXPECT_DOUBLE_EQ(again.flows().rows()[0].tx.bytes, 1000);
    ASSERT_EQ(again.events().total(), 1U);
    EXPECT_EQ(again.events().events()[0].text, "slave s1 down (no carrier)");
}

// Takes a good line, changes one member and returns the error.
std::string error_with(const std::string& pointer, const json& value) {
    json document = json::parse(line_of(sample_model()));
    document[json::json_pointer(pointer)] = value;
    const auto reading = parse_live_json(document.dump());
    return reading ? "" : reading.error().what;
}

TEST(Replay, SaysWhatIsWrong) {
    EXPECT_THAT(error_with("/schema", "bondtrace.flows/1"), HasSubstr("bondtrace.live/1"));
    EXPECT_THAT(error_with("/monotonic_ns", -1), HasSubstr("document.monotonic_ns: a whole number"));
    EXPECT_THAT(error_with("/monotonic_ns", 18446744073709551615U), HasSubstr("monotonic_ns"));
    EXPECT_THAT(error_with("/bonds", 3), HasSubstr("document.bonds: a list"));
    EXPECT_THAT(error_with("/bonds/0", "x"), HasSubstr("bonds[0]: an object"));
    EXPECT_THAT(error_with("/bonds/0/mode", "802.3xx"), HasSubstr("bonds[0].mode"));
    EXPECT_THAT(error_with("/bonds/0/slaves/1/tx", nullptr), HasSubstr("bonds[0].slaves[1].tx: an object"));
    EXPECT_THAT(error_with("/bonds/0/slaves/1/name", std::string(1000, 'x')), HasSubstr("slaves[1].name"));
    EXPECT_THAT(error_with("/bonds/0/flows/0/local", "10.77.0.999"),
                HasSubstr("flows[0].local: an IP address"));
    EXPECT_THAT(error_with("/bonds/0/flows/0/local", "fd77::1"), HasSubstr("family"));
    EXPECT_THAT(error_with("/bonds/0/flows/0/local_port", 65536), HasSubstr("local_port"));
    EXPECT_THAT(error_with("/bonds/0/flows/0/tx/0/slave", "s7"), HasSubstr("no slave of that name"));
    EXPECT_THAT(error_with("/bonds/0/flows/0/tx/0/packets", 1.5), HasSubstr("tx[0].packets"));
    EXPECT_THAT(error_with("/losses", nullptr), HasSubstr("losses"));
    EXPECT_EQ(error_with("/something_new", 1), "") << "what is not known is passed over";
    for (const char* text : {"", "x", "{", "[]", "null", "{}", "{\"schema\":1}", "\xff"})
        EXPECT_FALSE(parse_live_json(text)) << text;
    EXPECT_FALSE(parse_live_json(std::string(100000, '[')));
}

class File {
  public:
    explicit File(const std::string& text) : path_(testing::TempDir() + "recording-XXXXXX") {
        const int fd = mkstemp(path_.data());
        EXPECT_GE(fd, 0);
        close(fd);
        std::ofstream(path_) << text;
    }
    ~File() { std::remove(path_.c_str()); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

TEST(Recording, FindsItsLines) {
    const std::string line = line_of(sample_model());
    const File file(line + "\n" + line + "rubbish\n" + line.substr(0, line.size() - 1));
    const auto recording = Recording::open(file.path());
    ASSERT_TRUE(recording) << recording.error().what;
    ASSERT_EQ(recording->size(), 4U);
    EXPECT_TRUE(recording->read(0));
    EXPECT_TRUE(recording->read(1));
    const auto wrong = recording->read(2);
    ASSERT_FALSE(wrong);
    EXPECT_THAT(wrong.error().what, AllOf(HasSubstr("line 4"), HasSubstr("no JSON")));
    EXPECT_TRUE(recording->read(3)) << "the last line has no end";
}

TEST(Recording, SaysWhyItCannotBeRead) {
    EXPECT_EQ(Recording::open("/nonexistent/file").error().kind, ErrorKind::usage);
    EXPECT_THAT(Recording::open("/dev/null").error().what, HasSubstr("no file"));
    const File empty("");
    EXPECT_THAT(Recording::open(empty.path()).error().what, HasSubstr("is empty"));
}

TEST(LiveText, EveryLineStandsByItself) {
    const LiveModel model = sample_model();
    FlowView view;
    view.rebuild(model, {});
    const std::string text = live_text(model, view, 2, 0, unicode_symbols());
    EXPECT_THAT(text, HasSubstr("bondtrace host fentry 2025-06-01T12:00:00Z: 1.0 s"));
    EXPECT_THAT(text, HasSubstr("\nbond bond0: 802.3ad layer3+4, LACP 1 of 2 up"));
    EXPECT_THAT(text, HasSubstr("\nslave s0 down, TX "));
    EXPECT_THAT(text, HasSubstr("\nflow tcp 10.77.0.1:40001 - 10.77.0.2:5201, TX "));
    EXPECT_THAT(text, HasSubstr("more flows: TX "));
    EXPECT_THAT(text, HasSubstr("bond0: slave s0 down (no carrier)\n"));
    EXPECT_THAT(text, HasSubstr("3 frames lost"));
    EXPECT_THAT(live_text(model, view, 2, model.events().total(), unicode_symbols()),
                testing::Not(HasSubstr("event")));
}

TEST(LiveText, NamesStandBesideAddresses) {
    class PeerNamed : public HostNames {
      public:
        [[nodiscard]] std::optional<std::string> name_of(const IpAddress& host) const override {
            return to_text(host) == "10.77.0.2" ? std::optional<std::string>("storage2") : std::nullopt;
        }
    };
    const LiveModel model = sample_model();
    FlowView view;
    view.rebuild(model, {});
    const PeerNamed names;
    EXPECT_THAT(live_text(model, view, 2, 0, unicode_symbols(), &names),
                HasSubstr("\nflow tcp 10.77.0.1:40001 - 10.77.0.2:5201, remote storage2:5201, TX "));
}

} // namespace
} // namespace bondtrace::test
