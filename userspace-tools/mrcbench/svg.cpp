// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "svg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace mrcbench
{
namespace
{
constexpr double width = 760, height = 420;
constexpr double left = 80, right = 20, top = 54, bottom = 88;
constexpr double log_from = 30; /* ratio of the largest to the smallest value */
constexpr size_t most_bars = 6;
constexpr int most_ticks = 8;

/* Colours that people with colour blindness can distinguish. */
constexpr std::array<const char *, 8> colours{
	"#0072b2", "#d55e00", "#009e73", "#cc79a7",
	"#e69f00", "#56b4e9", "#666666", "#b8a800"};

std::string number(double v)
{
	if (v >= 1e6)
		return fmt::format("{:g}M", v / 1e6);
	if (v >= 1e4)
		return fmt::format("{:g}k", v / 1e3);
	return fmt::format("{:g}", v);
}

class Drawing
{
public:
	explicit Drawing(const Chart &chart) : chart_(chart)
	{
		double smallest = std::numeric_limits<double>::infinity();

		for (const Line &line : chart.lines)
			for (const auto &m : line.marks) {
				if (!m)
					continue;
				high_ = std::max(high_, m->max);
				if (m->min > 0)
					smallest = std::min(smallest, m->min);
			}
		if (!(high_ > 0))
			high_ = 1;
		log_ = high_ / smallest > log_from;
		if (log_) {
			low_ = std::pow(10, std::floor(std::log10(smallest)));
			high_ = std::pow(10, std::ceil(std::log10(high_)));
		} else {
			step_ = tick_step(high_, most_ticks);
			high_ = std::ceil(high_ / step_) * step_;
		}
	}

	std::string draw()
	{
		begin();
		scale();
		const bool bars = !log_ && chart_.at.size() <= most_bars;

		for (size_t i = 0; i < chart_.lines.size(); i++)
			if (bars)
				draw_bars(i);
			else
				draw_line(i);
		legend();
		out_ += "</svg>\n";
		return std::move(out_);
	}

private:
	template <typename... Args>
	void put(fmt::format_string<Args...> format, Args &&...args)
	{
		out_ += fmt::format(format, std::forward<Args>(args)...);
		out_ += '\n';
	}

	double place() const
	{
		return (width - left - right) /
		       static_cast<double>(chart_.at.size());
	}
	double x_of(size_t at) const
	{
		return left + place() * (static_cast<double>(at) + 0.5);
	}
	double y_of(double v) const
	{
		const double share =
			log_ ? std::log(std::max(v, low_) / low_) /
				       std::log(high_ / low_)
			     : v / high_;

		return height - bottom - share * (height - top - bottom);
	}
	static const char *colour(size_t i)
	{
		return colours[i % colours.size()];
	}

	void begin()
	{
		put("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
		    "height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
		    "font-family=\"sans-serif\" font-size=\"12\">",
		    width, height);
		put("<rect width=\"{}\" height=\"{}\" fill=\"#ffffff\"/>",
		    width, height);
		put("<text x=\"{}\" y=\"22\" font-size=\"15\" "
		    "font-weight=\"bold\">{}</text>",
		    left, xml_text(chart_.title));
		put("<text x=\"{}\" y=\"42\" fill=\"#444444\">{}{}; median, "
		    "smallest and largest</text>",
		    left, xml_text(chart_.y), log_ ? " (logarithmic)" : "");
	}

	void tick(double v)
	{
		put("<line x1=\"{0}\" y1=\"{2:.1f}\" x2=\"{1}\" y2=\"{2:.1f}\" "
		    "stroke=\"#dddddd\"/>",
		    left, width - right, y_of(v));
		put("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>",
		    left - 6, y_of(v) + 4, number(v));
	}

	void scale()
	{
		if (log_)
			for (double v = low_; v <= high_ * 1.001; v *= 10)
				tick(v);
		else
			for (int i = 0; i * step_ <= high_ * 1.001; i++)
				tick(i * step_);
		for (size_t i = 0; i < chart_.at.size(); i++)
			put("<text x=\"{:.1f}\" y=\"{}\" "
			    "text-anchor=\"middle\">{}</text>",
			    x_of(i), height - bottom + 18,
			    xml_text(chart_.at[i]));
		put("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\" "
		    "fill=\"#444444\">{}</text>",
		    (left + width - right) / 2, height - bottom + 38,
		    xml_text(chart_.x));
	}

	void whisker(double x, const mrcperf::Summary &m, const char *stroke)
	{
		put("<path d=\"M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {1:.1f}h6"
		    "M{3:.1f} {2:.1f}h6\" stroke=\"{4}\" fill=\"none\"/>",
		    x, y_of(m.min), y_of(m.max), x - 3, stroke);
	}

	void draw_bars(size_t i)
	{
		const auto n = static_cast<double>(chart_.lines.size());
		const double w = std::min(60.0, place() * 0.8 / n);

		for (size_t at = 0; at < chart_.lines[i].marks.size(); at++) {
			const auto &m = chart_.lines[i].marks[at];
			const double x = x_of(at) +
					 (static_cast<double>(i) - n / 2) * w;

			if (!m)
				continue;
			put("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
			    "height=\"{:.1f}\" fill=\"{}\"/>",
			    x, y_of(m->median), w * 0.92,
			    height - bottom - y_of(m->median), colour(i));
			whisker(x + w * 0.46, *m, "#000000");
		}
	}

	void draw_line(size_t i)
	{
		std::string path;

		for (size_t at = 0; at < chart_.lines[i].marks.size(); at++) {
			const auto &m = chart_.lines[i].marks[at];

			/* A point without a value interrupts the line. */
			if (!m) {
				finish_path(path, i);
				continue;
			}
			path += fmt::format("{}{:.1f} {:.1f}",
					    path.empty() ? 'M' : 'L', x_of(at),
					    y_of(m->median));
			whisker(x_of(at), *m, colour(i));
			put("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" "
			    "fill=\"{}\"/>",
			    x_of(at), y_of(m->median), colour(i));
		}
		finish_path(path, i);
	}

	void finish_path(std::string &path, size_t i)
	{
		if (!path.empty())
			put("<path d=\"{}\" stroke=\"{}\" stroke-width=\"2\" "
			    "fill=\"none\"/>",
			    path, colour(i));
		path.clear();
	}

	void legend()
	{
		double x = left, y = height - 28;

		for (size_t i = 0; i < chart_.lines.size(); i++) {
			const std::string &name = chart_.lines[i].name;
			const double w =
				30 + 7 * static_cast<double>(name.size());

			if (x + w > width - right && x > left) {
				x = left;
				y += 16;
			}
			put("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"10\" "
			    "height=\"10\" fill=\"{}\"/>",
			    x, y - 9, colour(i));
			put("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
			    x + 14, y, xml_text(name));
			x += w;
		}
	}

	const Chart &chart_;
	bool log_ = false;
	double low_ = 0;
	double high_ = 0;
	double step_ = 1;
	std::string out_;
};
} // namespace

std::string xml_text(const std::string &text)
{
	std::string out;

	for (const char c : text)
		switch (c) {
		case '<':
			out += "&lt;";
			break;
		case '>':
			out += "&gt;";
			break;
		case '&':
			out += "&amp;";
			break;
		case '"':
			out += "&quot;";
			break;
		default:
			out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
		}
	return out;
}

double tick_step(double top_value, int most)
{
	const double raw = top_value / most;
	const double ten = std::pow(10, std::floor(std::log10(raw)));

	for (const double m : {1.0, 2.0, 5.0})
		if (m * ten >= raw * 0.999)
			return m * ten;
	return 10 * ten;
}

std::string svg(const Chart &chart)
{
	return Drawing(chart).draw();
}
} // namespace mrcbench
